/**
 * How much of the same: a few times where that shows it, and many, or more kinds, in `npm run test:long`. The files that
 * import this run in both.
 */
export const usually = <F, M>(few: F, many: M): F | M => (process.env['SZ_TEST_LONG'] === '1' ? many : few);
