/** The Fastify application: hooks, their order, and all routes. The handlers are in the routes.ts of each feature. */
import { bodyLimitOf, type Route, type RouteName, routes, shapeOf } from '@szafa/protocol';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { authentication, preAuthenticated } from './accounts/authentication.ts';
import { accountHandlers } from './accounts/routes.ts';
import { leaveToNginx } from './fastlane/accel.ts';
import { openVolumeLanes } from './fastlane/lane.ts';
import { acceptVolumeSockets, isVolumeSocket } from './fastlane/socket.ts';
import { fileHandlers } from './files/routes.ts';
import { adminHandlers } from './operator/routes.ts';
import { ApiError } from './platform/http/api-error.ts';
import { Bodies } from './platform/http/bodies.ts';
import { callerAddresses } from './platform/http/caller-address.ts';
import { compileInitValidator, compileNoValidator, compilersFactory } from './platform/http/compilers.ts';
import { guardConnections, sendContinue } from './platform/http/connection.ts';
import { refuseConnection, sendError } from './platform/http/errors.ts';
import type { Handler, Handlers } from './platform/http/handlers.ts';
import { addPage, STRICT_TRANSPORT } from './platform/http/page.ts';
import type { Params } from './platform/http/params.ts';
import {
  countFault,
  countInFlight,
  logRequest,
  REQUEST_ID,
  requestIds,
} from './platform/http/request-log.ts';
import { namedSchemas, schemaOf, urlOf } from './platform/http/schemas.ts';
import { serverHandlers } from './server-routes.ts';
import type { Services } from './services.ts';
import { sharingHandlers } from './sharing/routes.ts';
import { volumeHandler } from './transfers/put.ts';
import { transferHandlers } from './transfers/routes.ts';

/** The body is a stream of raw bytes, which is not kept in memory. */
const isStream = ({ rawBody, bodyBytes }: Route) => rawBody !== undefined && bodyBytes === undefined;
/** The body is one volume. */
const isVolume = (route: Route) => isStream(route) && route.rawBody === true;

/** Builds the application; the caller makes it listen. */
export async function createApp(services: Services): Promise<FastifyInstance> {
  const { config, log } = services;
  const upgrades = { shouldUpgradeCallback: isVolumeSocket };
  const idOf = requestIds(config.trustProxy);
  const logAnswer = (request: FastifyRequest, reply: FastifyReply) => {
    if (request.routeOptions.config.logsItself) return;
    const { id: reqId, method, routeOptions, caller, params, ip } = request;
    logRequest(services, {
      reqId,
      method,
      route: routeOptions.url ?? 'unknown',
      status: reply.raw.statusCode,
      ms: reply.elapsedTime + (preAuthenticated.get(request.raw)?.ms ?? 0),
      user: caller?.username,
      params: (params ?? {}) as Partial<Params>,
      ip,
    });
  };
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // The address is undefined after the client has disconnected.
    trustProxy: (address: string | undefined) => config.trustProxy.contains(address ?? ''),
    ...(config.tls ? { https: { ...config.tls, ...upgrades } } : { http: upgrades }),
    requestTimeout: 0,
    connectionTimeout: config.idleMs,
    keepAliveTimeout: config.idleMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    // Ids of any length must give 404; the limit on the request head bounds them.
    routerOptions: { maxParamLength: 65_536 },
    schemaController: { compilersFactory },
    clientErrorHandler: refuseConnection(log),
    genReqId: ({ headers, socket }) => idOf(headers[REQUEST_ID], socket.remoteAddress),
    // Requests with a malformed path reach no hook, so they are logged here.
    frameworkErrors: (error, request, reply) => {
      reply.raw.once('finish', () => logAnswer(request, reply));
      sendError(error, request, reply);
    },
  });
  const begin = guardConnections(app, !config.trustProxy.isEmpty);
  countInFlight(app, services.metrics);
  const bodies = new Bodies(config.idleMs);
  const handleVolume = volumeHandler(services);
  const sockets = acceptVolumeSockets(app.server, handleVolume, config.idleMs, config.lane, idOf);
  app.addHook('preClose', async () => sockets.close());
  // The fast lane reads plain sockets; TLS needs Node's server.
  if (config.lane && !config.tls) {
    const lanes = openVolumeLanes(app.server, handleVolume, config.idleMs, idOf);
    app.addHook('preClose', async () => lanes.close());
  }
  app.addHook('onResponse', async (request, reply) => logAnswer(request, reply));
  app.setErrorHandler((error, request, reply) => {
    if (!sendError(error, request, reply)) logAnswer(request, reply);
  });
  app.setNotFoundHandler(async () => {
    throw new ApiError(404, 'no such route');
  });
  const always = config.tls ? STRICT_TRANSPORT : {};
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ [REQUEST_ID]: request.id, ...always });
    bodies.releaseAfter(request, reply);
    // The route decides how to read the body; Fastify would refuse unusual content types.
    delete request.raw.headers['content-type'];
  });
  app.decorateRequest('bodyText', '');
  app.decorateRequest('releaseBody');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest) => bodies.parse(request));
  app.addHook('onError', async (_request, _reply, error) => countFault(services.metrics, error));
  for (const schema of namedSchemas()) app.addSchema(schema);

  const guard = authentication(app, services);
  if (config.accel) leaveToNginx(app, services, guard('readVolume').identify!, { begin, idOf, always });
  // Runs before the body, so that a client does not send it in vain, and again after it.
  const whileWritable = () => services.mode.requireWritable();
  const askForBody = async (request: FastifyRequest, reply: FastifyReply) =>
    sendContinue(request.raw, reply.raw);
  const orEmpty = async (request: FastifyRequest) => {
    if (request.body === undefined) request.body = {};
  };
  const address = callerAddresses(config.trustProxy, log);
  const countOut = services.metrics.counter('szafa_volume_bytes_total', { direction: 'out' });
  const all: Handlers = {
    ...accountHandlers(services, address),
    ...fileHandlers(services, countOut),
    ...transferHandlers(services, { handleVolume, bodies, address }),
    ...sharingHandlers(services, address, countOut),
    ...serverHandlers(services),
    ...adminHandlers(services),
  };
  const add = (to: FastifyInstance, name: RouteName) => {
    const route: Route = routes[name];
    const schema = schemaOf(name, route);
    const { onRequest, preHandler } = guard(name);
    const writable = route.changes ? [whileWritable] : [];
    const options = {
      url: urlOf(route),
      config: {
        bodyShape: route.body && shapeOf(route.body),
        isOpen: route.access === 'open',
        refusesUnknown: 401 in route.responses,
        checkedLater: route.checkedLater,
        hasBytes: route.rawBody !== undefined && !isStream(route),
        logsItself: isVolume(route),
      },
      // Volumes also arrive on the fast lane and on WebSockets: `volumeHandler` checks all of them.
      ...(isVolume(route)
        ? {}
        : { onRequest: [...onRequest, ...writable, askForBody], preHandler: [...preHandler, ...writable] }),
      bodyLimit: bodyLimitOf(route),
      ...(route.optionalBody ? { preValidation: orEmpty } : {}),
      ...(name === 'init' ? { validatorCompiler: compileInitValidator } : {}),
      ...(route.checkedLater ? { validatorCompiler: compileNoValidator } : {}),
      handler: all[name] as Handler<FastifyRequest>,
    };
    to.route({ ...options, method: route.method, schema });
  };
  const names = Object.keys(routes) as RouteName[];
  await app.register(async (scope) => {
    for (const name of names) if (!isStream(routes[name])) add(scope, name);
  });
  // Volumes are not parsed: the receiver reads the stream itself.
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    for (const name of names) if (isStream(routes[name])) add(scope, name);
  });
  addPage(app);
  return app;
}
