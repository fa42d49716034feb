/** For all that a browser shows as a page of ours. */
export const PAGE_HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Part of the policy of each of them: no page of another one shows it inside itself. */
export const CONFINED = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];

/** With TLS of our own: a browser that was here once never comes without. A year. */
export const STRICT_TRANSPORT = { 'strict-transport-security': 'max-age=31536000' };
