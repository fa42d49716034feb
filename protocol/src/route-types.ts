/** Types of a route's parameters, body and answer, derived from the route table. */
import type { Static, TSchema } from 'typebox';
import type { RouteName, routes } from './routes.ts';

type Table = typeof routes;
type ParamNames<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;

/** The parameters in the path of a route. */
export type RouteParams<N extends RouteName> = Record<ParamNames<Table[N]['path']>, string | number>;
/** The JSON body that a route takes; never if it takes none. */
export type RouteBody<N extends RouteName> = Table[N] extends { body: infer Body extends TSchema }
  ? Static<Body>
  : never;
/** The query parameters of a route. */
export type RouteQuery<N extends RouteName> = Table[N] extends { query: infer Query extends TSchema }
  ? { [name in keyof Static<Query>]?: string | number | undefined }
  : never;
/** The request headers that a route reads. */
export type RouteHeaders<N extends RouteName> = Table[N] extends { headers: infer Headers extends TSchema }
  ? { [name in keyof Static<Headers>]?: string | undefined }
  : never;
/** The JSON body of a successful answer; never if the route does not answer with JSON. */
export type RouteAnswer<N extends RouteName> = Table[N]['responses'] extends {
  200: infer Answer extends TSchema;
}
  ? Static<Answer>
  : never;
/** Names of the routes that answer with JSON. */
export type JsonRouteName = {
  [name in RouteName]: Table[name]['responses'] extends { 200: TSchema } ? name : never;
}[RouteName];
