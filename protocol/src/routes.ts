/** All routes, in the order of the documentation. */
import { factorRoutes } from './accounts/factors.ts';
import { passkeyRoutes } from './accounts/passkeys.ts';
import { accountRoutes } from './accounts/routes.ts';
import type { Route } from './basics/route.ts';
import { directoryRoutes, fileRoutes, quotaRoutes } from './files/routes.ts';
import { thumbnailRoutes } from './files/thumbnails.ts';
import { trashRoutes } from './files/trash.ts';
import { adminRoutes } from './operator/routes.ts';
import { serviceRoutes } from './service.ts';
import { requestRoutes } from './sharing/requests.ts';
import { shareRoutes } from './sharing/shares.ts';
import { transferRoutes } from './transfers/routes.ts';

const table = {
  ...accountRoutes,
  ...factorRoutes,
  ...passkeyRoutes,
  ...quotaRoutes,
  ...directoryRoutes,
  ...fileRoutes,
  ...trashRoutes,
  ...thumbnailRoutes,
  ...transferRoutes,
  ...shareRoutes,
  ...requestRoutes,
  ...serviceRoutes,
  ...adminRoutes,
} satisfies Record<string, Route>;

export type RouteName = keyof typeof table;
export const routes: { readonly [name in RouteName]: (typeof table)[name] } = table;

/** Returns the path of a route with its parameters filled in and percent-encoded. */
export function pathOf(name: RouteName, params: Record<string, string | number> = {}): string {
  return routes[name].path.replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = params[key];
    if (value === undefined) throw new TypeError(`route ${name} needs ${key}`);
    // A hostile server may send ids with lone surrogates, which cannot be encoded.
    return encodeURIComponent(String(value).toWellFormed());
  });
}
