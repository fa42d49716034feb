/**
 * Returns `few` in `npm test` and `many` in `npm run test:long`, such as a number of repetitions. Test files that use it run in both.
 */
export const usually = <F, M>(few: F, many: M): F | M => (process.env['SZ_TEST_LONG'] === '1' ? many : few);
