/** What answers which route. One file: hooks count in their order, which must be seen together with the routes. */
import type { Writable } from 'node:stream';
import {
  bodyLimitOf,
  type CompleteBody,
  type Credentials,
  checkNames,
  cleanDirName,
  type DirNameBody,
  type DirTarget,
  type FilesBody,
  type FinishRecoveryBody,
  features,
  headers as headerNames,
  type InitBody,
  type KeysBody,
  type LeaveBody,
  type NamesBody,
  type NewDir,
  type NewPasskeyBody,
  PASSKEYS,
  type PasskeyEntry,
  type PasswordBody,
  type ProfileBody,
  type PullBody,
  type RecoverBody,
  type Registration,
  type RemovePasskeyBody,
  type Route,
  type RouteName,
  routes,
  type StreamedInitBody,
  shapeOf,
  type ThumbnailsBody,
  type TokenBody,
  type TotpBody,
  type TotpOffBody,
  targetDir,
  toBase64,
} from '@szafa/protocol';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { authentication, lookedAt } from './accounts/authentication.ts';
import { overQuota } from './accounts/refusals.ts';
import { leaveToNginx } from './fastlane/accel.ts';
import { VolumeLanes } from './fastlane/lane.ts';
import { isVolumeSocket, VolumeSockets } from './fastlane/socket.ts';
import { type Sendable, sendVolume } from './files/download.ts';
import {
  type FileListing,
  type FilesQuery,
  filePage,
  filesOf,
  trashOf,
  wholeList,
} from './files/file-list.ts';
import { quotaOf } from './files/quota.ts';
import { Readiness } from './operator/readiness.ts';
import { adminHandlers } from './operator/routes.ts';
import { badDirectory, OutOfScope, ServiceError, TryLater, takenDir, unknownDir } from './platform/errors.ts';
import { Bodies, readLater } from './platform/http/bodies.ts';
import { addressTeller } from './platform/http/caller-address.ts';
import { compileInitValidator, compileNoValidator, compilersFactory } from './platform/http/compilers.ts';
import { guardConnections, wantBody } from './platform/http/connection.ts';
import type { Document, docsPage } from './platform/http/docs.ts';
import { refuseConnection, sendError } from './platform/http/errors.ts';
import { addPage } from './platform/http/page.ts';
import { STRICT_TRANSPORT } from './platform/http/page-headers.ts';
import type { Params } from './platform/http/params.ts';
import { keysCondition } from './platform/http/preconditions.ts';
import { REQUEST_ID, requestIds } from './platform/http/request-id.ts';
import { conclude } from './platform/http/request-log.ts';
import { countFault, countInFlight } from './platform/http/request-metrics.ts';
import { namedSchemas, schemaOf, urlOf } from './platform/http/schemas.ts';
import { CONTENT_TYPE } from './platform/metrics/gathering.ts';
import { collectInTurns } from './platform/parallel.ts';
import type { Services } from './services.ts';
import { requestHandlers } from './sharing/request-routes.ts';
import { shareHandlers } from './sharing/share-routes.ts';
import { batchHandler } from './transfers/batch.ts';
import { putRoute, type VolumeHandler, volumeHandler } from './transfers/put.ts';
import { VERSION } from './version.ts';

/** Questions for the KDF profile of a name, from one address on one node. */
const PROFILES_A_SECOND = 50;

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** Every route on one screen. */
function handlers(
  handleVolume: VolumeHandler,
  bodies: Bodies,
  services: Services,
): Record<RouteName, Handler> {
  const { config, log, metadata, volumes, accounts, sessions, departures, files, transfers, pulls, pace } =
    services;
  const { thumbnails, metrics, gathered } = services;
  const { factors } = accounts;
  const user = (request: FastifyRequest) => request.caller.username;
  const params = (request: FastifyRequest) => request.params as Params;
  const address = addressTeller(config.trustProxy, log);
  /** 0 for what can be no number of a directory. */
  const dirOf = (request: FastifyRequest) => {
    const { dir_id } = params(request);
    const dirId = /^[1-9][0-9]{0,15}$/.test(dir_id) ? Number(dir_id) : 0;
    return Number.isSafeInteger(dirId) ? dirId : 0;
  };
  const target = (request: FastifyRequest) => targetDir(request.body as DirTarget);
  let serviceId: string | undefined;
  const countOut = metrics.counter('szafa_volume_bytes_total', { direction: 'out' });
  let document: Document | undefined;
  const openapi = async () => {
    document ??= await (await import('./platform/http/openapi.ts')).openapiDocument();
    return document;
  };
  const send = async (request: FastifyRequest, reply: FastifyReply, found: Sendable) => {
    const paced = (to: Writable) => pace.download(to, request.caller);
    countOut(await sendVolume(request, reply, found, paced, (error) => countFault(metrics, error)));
    return reply;
  };
  const readVolume: Handler = async (request, reply) => {
    const { file_id } = params(request);
    return send(
      request,
      reply,
      await files.openVolume(file_id, request.found.file, user(request), isWhole(request)),
    );
  };
  let docs: ReturnType<typeof docsPage> | undefined;
  const readiness = new Readiness(() => Promise.all([metadata.ping(), volumes.ping()]));
  return {
    register: (request) => accounts.register(request.body as Registration, address(request)),
    login: (request) => accounts.login(request.body as Credentials, address(request)),
    readProfile: async (request) => {
      if (await pace.isTooOften(`profile ${address(request).network}`, PROFILES_A_SECOND))
        throw new TryLater(429, 'too many requests from your address; try again later', 10);
      return { profile: await accounts.profile((request.body as ProfileBody).username) };
    },
    me: async (request) => ({ username: user(request) }),
    logout: async (request) => {
      await sessions.logout(request.caller);
      return { ok: true };
    },
    createToken: (request) => sessions.create(request.caller, request.body as TokenBody),
    readKeys: async (request, reply) => {
      const { keys, tag } = await accounts.keys(request.caller);
      reply.headers({ etag: tag, 'cache-control': 'private, no-cache' });
      return { keys };
    },
    writeKeys: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const body = request.body as KeysBody;
      reply.header('etag', await accounts.replaceKeys(request.caller, body, condition, address(request)));
      return { ok: true };
    },
    changePassword: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const body = request.body as PasswordBody;
      const tag = await accounts.changePassword(request.caller, body, condition, address(request));
      if (tag !== undefined) reply.header('etag', tag);
      return { ok: true };
    },
    recover: async (request, reply) => {
      const { recovered, tag } = await accounts.recover(request.body as RecoverBody, address(request));
      reply.headers({ etag: tag, 'cache-control': 'no-store' });
      return recovered;
    },
    finishRecovery: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const body = request.body as FinishRecoveryBody;
      const { session, tag } = await accounts.finishRecovery(body, condition, address(request));
      reply.header('etag', tag);
      return session;
    },
    leave: async (request) => {
      const leaving = await accounts.leave(request.caller, request.body as LeaveBody, address(request));
      await departures.clear(leaving).catch((err: unknown) => {
        // Nobody can use it any more, and there is no way back: the sweeper goes on.
        request.log.error({ err }, 'an account could not be cleared yet');
      });
      return { ok: true };
    },
    listSessions: async (request) => ({ sessions: await sessions.list(request.caller) }),
    endSession: async (request) => {
      await sessions.end(request.caller, params(request).session_id);
      return { ok: true };
    },
    endSessions: async (request) => ({ ok: true, ended: await sessions.endOthers(request.caller) }),
    factors: (request) => factors.of(request.caller),
    setTotp: async (request) => {
      await factors.setTotp(request.caller, request.body as TotpBody, address(request));
      return { ok: true };
    },
    removeTotp: async (request) => {
      await factors.removeTotp(request.caller, request.body as TotpOffBody, address(request));
      return { ok: true };
    },
    passkeyChallenge: async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      return factors.challenge();
    },
    passkeyLogin: (request) => factors.enter(request.body as PasskeyEntry, address(request)),
    newPasskey: (request) => factors.requestNew(request.caller),
    addPasskey: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const body = request.body as NewPasskeyBody;
      const { id, tag } = await factors.add(request.caller, body, condition, address(request));
      if (tag !== undefined) reply.header('etag', tag);
      return { ok: true, id };
    },
    removePasskey: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const { passkey_id: id } = params(request);
      const body = request.body as RemovePasskeyBody;
      const tag = await factors.remove(request.caller, id, body, condition, address(request));
      if (tag !== undefined) reply.header('etag', tag);
      return { ok: true };
    },
    quota: async ({ found }) => quotaOf(found.bytes!, found.quota ?? config.quotaBytes),
    createDir: async (request) => {
      const name = cleanDirName((request.body as NewDir).name);
      const dirId = await metadata.dirs.create(user(request), name, Date.now(), request.caller.accountId);
      if (dirId === undefined) throw takenDir();
      return { ok: true, dir_id: dirId, name };
    },
    listDirs: async (request) => {
      return {
        dirs: request.found.dirs!.map((row) => ({
          ...row,
          created_at: new Date(row.created_at).toISOString(),
        })),
      };
    },
    renameDir: async (request) => {
      const dirId = dirOf(request);
      const { match, ...body } = request.body as DirNameBody;
      const name = cleanDirName(body.name);
      const result = dirId && (await metadata.renaming.dir(user(request), dirId, { name, match }));
      if (!result || result === 'no directory') throw unknownDir();
      if (result === 'changed') throw new ServiceError(412, 'the directory has another name by now');
      if (result === 'taken') throw takenDir();
      return { ok: true, dir_id: dirId, name };
    },
    deleteDir: async (request) => {
      const dirId = dirOf(request);
      if (!dirId || !(await metadata.dirs.remove(user(request), dirId))) throw unknownDir();
      return { ok: true, dir_id: dirId };
    },
    listFiles: (request, reply) => {
      const query = listQuery(request);
      return sendList(filesOf(metadata.files, user(request), query), query, reply);
    },
    deleteFile: async (request) => {
      const { file_id } = params(request);
      await files.remove(file_id, user(request));
      return { ok: true, file_id };
    },
    moveFile: async (request) => {
      const { file_id } = params(request);
      await files.move(file_id, user(request), target(request));
      return { ok: true, file_id, dir_id: target(request) || null };
    },
    renameFiles: async (request) => {
      const body = request.body as NamesBody;
      const inTrash = body.in_trash === true;
      const names = await collectInTurns(checkNames(body));
      const quota = config.quotaEnforced ? config.quotaBytes : undefined;
      const files = await metadata.renaming.files(user(request), names, { inTrash, quota });
      if (files === 'over quota') throw overQuota();
      if (files === 'no directory') throw badDirectory();
      if (files.length === 0) return { ok: true };
      throw new ServiceError(412, 'some of these files are not as you saw them', { extra: { files } });
    },
    trashFiles: async (request) => {
      const ids = (request.body as FilesBody).files;
      requireNone(await metadata.trash.put(user(request), ids, Date.now()));
      return { ok: true };
    },
    restoreFiles: async (request) => {
      requireNone(await metadata.trash.restore(user(request), (request.body as FilesBody).files));
      return { ok: true };
    },
    listTrash: (request, reply) => {
      const query = listQuery(request);
      return sendList(trashOf(metadata.trash, user(request), query, config.trashMs), query, reply);
    },
    readTrashed: async (request) => {
      const { enc_params } = await files.trashed(params(request).file_id, user(request));
      return { enc_params: toBase64(enc_params) };
    },
    emptyTrash: async (request) => {
      const ids = (request.body as FilesBody).files;
      return { ok: true, removed: await metadata.trash.empty(user(request), ids, Date.now()) };
    },
    changes: async ({ found }) => ({ rev: String(found.rev) }),
    cloneFile: async (request) => ({
      ok: true,
      file_id: await files.clone(params(request).file_id, request.caller, target(request)),
    }),
    readVolume,
    readHeader: readVolume,
    readDigests: async (request, reply) =>
      send(request, reply, await files.openDigests(params(request).file_id, user(request))),
    writeThumbnail: async (request) => {
      const { body = Buffer.alloc(0), caller, headers } = request;
      const digest = headers[headerNames.contentDigest.toLowerCase()]?.toString();
      await thumbnails.write(params(request).file_id, caller, body as Buffer, digest);
      return { ok: true };
    },
    readThumbnail: async (request, reply) => {
      const { file_id } = params(request);
      return send(request, reply, await thumbnails.open(file_id, user(request), isWhole(request)));
    },
    readThumbnails: async (request, reply) => {
      const { files: ids } = request.body as ThumbnailsBody;
      const found = await thumbnails.several(ids, request.caller);
      countOut(found.reduce((sum, { thumbnail }) => sum + Buffer.byteLength(thumbnail ?? '', 'base64'), 0));
      reply.header('cache-control', 'private, no-store');
      return { thumbnails: found };
    },
    init: async (request) => {
      const init = { body: request.body as InitBody | StreamedInitBody, text: request.bodyText };
      return { transfer_id: await transfers.init(init, request.caller) };
    },
    received: async (request) => {
      const transfer = await transfers.use(params(request).transfer_id, request.found.transfer);
      return transfers.received(transfer);
    },
    writeVolume: putRoute(handleVolume),
    writeFile: putRoute(handleVolume),
    writeFiles: batchHandler(bodies, services),
    pull: async (request) => {
      const { transfer_id } = params(request);
      const { username, uploadRate } = request.caller;
      const from = { caller: username, own: address(request).own, rate: uploadRate ?? undefined };
      return { ok: true, ...(await pulls.pull(transfer_id, request.body as PullBody, from)) };
    },
    pullStatus: (request) => pulls.status(params(request).transfer_id, request.found.transfer),
    complete: async (request) => {
      const said = () => readLater<CompleteBody>(request, 'Complete');
      const fileId = await transfers.complete(params(request).transfer_id, request.caller, said);
      return { status: 'done', file_id: fileId };
    },
    cancel: async (request) => {
      await transfers.cancel(params(request).transfer_id, user(request));
      return { ok: true };
    },
    ...shareHandlers(services, address, countOut),
    ...requestHandlers(services, address),
    service: async () => {
      serviceId ??= (await metadata.store.get()).serviceId;
      const { origin, registration } = config;
      const offered = features.filter(
        (feature) => config.shares || (feature !== 'shares' && feature !== 'requests'),
      );
      const all = origin === undefined ? offered : [...offered, PASSKEYS];
      const where = origin === undefined ? {} : { origin };
      return { service_id: serviceId, version: VERSION, features: all, registration, ...where };
    },
    healthz: async () => ({ ok: true }),
    readyz: async () => {
      await readiness.confirm();
      return { ok: true };
    },
    metrics: async (_request, reply) => reply.type(CONTENT_TYPE).send(await gathered()),
    openapi,
    docs: async (_request, reply) => {
      docs ??= (await import('./platform/http/docs.ts')).docsPage(await openapi());
      const { html, headers } = docs;
      return reply.type('text/html; charset=utf-8').headers(headers).send(html);
    },
    ...adminHandlers(services),
  };
}

/** Raw bytes of any length, which are not gathered. */
const isStream = ({ rawBody, bodyBytes }: Route) => rawBody !== undefined && bodyBytes === undefined;
/** One volume. */
const isVolume = (route: Route) => isStream(route) && route.rawBody === true;

/** Whether all of a body will be sent. */
function isWhole({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.range === undefined && headers['if-none-match'] === undefined;
}

/** A token that reads no file reads no header either. */
function listQuery({ query, caller }: FastifyRequest): FilesQuery {
  const asked = query as FilesQuery;
  if (asked.headers !== undefined && caller.scope === 'append')
    throw new OutOfScope('this token has the scope append, and reads no headers: omit headers');
  return asked;
}

/** A page where one is asked for, else all of it. */
async function sendList(listing: FileListing, query: FilesQuery, reply: FastifyReply): Promise<unknown> {
  const { limit } = query;
  if (limit !== undefined) return filePage(listing, { ...query, limit });
  return reply.type('application/json; charset=utf-8').send(await wholeList(listing, query));
}

/** Files that the caller does not have refuse all that were named together with them. */
function requireNone(files: string[]): void {
  if (files.length > 0)
    throw new ServiceError(404, 'you do not have some of these files', { extra: { files } });
}

/** Builds the application; the caller listens. */
export async function createApp(services: Services): Promise<FastifyInstance> {
  const { config, log } = services;
  const upgrades = { shouldUpgradeCallback: isVolumeSocket };
  const idOf = requestIds(config.trustProxy);
  const concluded = (request: FastifyRequest, reply: FastifyReply) => {
    // Its handler has done so.
    if (request.routeOptions.config.logsItself) return;
    const { id: reqId, method, routeOptions, caller, params, ip } = request;
    conclude(services, {
      reqId,
      method,
      route: routeOptions.url ?? 'unknown',
      status: reply.raw.statusCode,
      ms: reply.elapsedTime + (lookedAt.get(request.raw)?.ms ?? 0),
      user: caller?.username,
      params: (params ?? {}) as Partial<Params>,
      ip,
    });
  };
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // None where the client has gone already.
    trustProxy: (address: string | undefined) => config.trustProxy.contains(address ?? ''),
    ...(config.tls ? { https: { ...config.tls, ...upgrades } } : { http: upgrades }),
    requestTimeout: 0,
    connectionTimeout: config.idleMs,
    keepAliveTimeout: config.idleMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    // An id of any length is an unknown id; the limit on headers bounds it.
    routerOptions: { maxParamLength: 65_536 },
    schemaController: { compilersFactory },
    clientErrorHandler: refuseConnection(log),
    genReqId: ({ headers, socket }) => idOf(headers[REQUEST_ID], socket.remoteAddress),
    // No hook sees these, of paths that cannot be read.
    frameworkErrors: (error, request, reply) => {
      reply.raw.once('finish', () => concluded(request, reply));
      sendError(error, request, reply);
    },
  });
  const begin = guardConnections(app, !config.trustProxy.isEmpty);
  countInFlight(app, services.metrics);
  const bodies = new Bodies(config.idleMs);
  const handleVolume = volumeHandler(services);
  const sockets = new VolumeSockets(app.server, handleVolume, config.idleMs, config.lane, idOf);
  app.addHook('preClose', async () => sockets.close());
  // The fast lane reads plain sockets; what TLS decrypts comes through Node's server.
  if (config.lane && !config.tls) {
    const lanes = new VolumeLanes(app.server, handleVolume, config.idleMs, idOf);
    app.addHook('preClose', async () => lanes.close());
  }
  app.addHook('onResponse', async (request, reply) => concluded(request, reply));
  app.setErrorHandler((error, request, reply) => {
    if (!sendError(error, request, reply)) concluded(request, reply);
  });
  app.setNotFoundHandler(async () => {
    throw new ServiceError(404, 'no such route');
  });
  const always = config.tls ? STRICT_TRANSPORT : {};
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ [REQUEST_ID]: request.id, ...always });
    bodies.releaseAfter(request, reply);
    // A body is JSON or a volume by its route, whatever its content type says; Fastify would refuse an odd one.
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
  // Before the body, so that none is sent in vain, and after it.
  const whileWritable = () => services.mode.requireWritable();
  const askForBody = async (request: FastifyRequest, reply: FastifyReply) => wantBody(request.raw, reply.raw);
  const orEmpty = async (request: FastifyRequest) => {
    if (request.body === undefined) request.body = {};
  };
  const all = handlers(handleVolume, bodies, services);
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
      // Volumes come in other ways as well, and are checked where all of them meet.
      ...(isVolume(route)
        ? {}
        : { onRequest: [...onRequest, ...writable, askForBody], preHandler: [...preHandler, ...writable] }),
      bodyLimit: bodyLimitOf(route),
      ...(route.optionalBody ? { preValidation: orEmpty } : {}),
      ...(name === 'init' ? { validatorCompiler: compileInitValidator } : {}),
      ...(route.checkedLater ? { validatorCompiler: compileNoValidator } : {}),
      handler: all[name],
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
