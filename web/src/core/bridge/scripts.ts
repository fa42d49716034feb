interface ScriptUrls {
  createScriptURL(url: string): string;
}
interface TrustedTypes {
  createPolicy(name: string, rules: ScriptUrls): ScriptUrls;
}

/** Allows only these script URLs: by Trusted Types if the browser has them, otherwise by the same check. */
export function scriptPolicy(...scripts: string[]): (url: string) => string {
  const own = (url: string) => {
    if (!scripts.includes(url)) throw new TypeError(`not a script of this page: ${url}`);
    return url;
  };
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy('szafa', { createScriptURL: own });
  return (url) => (policy ? policy.createScriptURL(url) : own(url));
}
