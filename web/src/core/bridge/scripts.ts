interface ScriptUrls {
  createScriptURL(url: string): string;
}
interface TrustedTypes {
  createPolicy(name: string, rules: ScriptUrls): ScriptUrls;
}

/** Returns a function that passes only these script URLs, as a Trusted Types policy if the browser has them. */
export function scriptPolicy(...scripts: string[]): (url: string) => string {
  const own = (url: string) => {
    if (!scripts.includes(url)) throw new TypeError(`not a script of this page: ${url}`);
    return url;
  };
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy('szafa', { createScriptURL: own });
  return (url) => (policy ? policy.createScriptURL(url) : own(url));
}
