/** Builds the Fastify server from the route table: admission, validation, errors, logs, metrics and pages. */
import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import cookie from '@fastify/cookie';
import cors from '@fastify/cors';
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { AppError, invalid } from '../../core/errors.ts';
import { Grant } from '../../core/identity/permissions.ts';
import type { ReadSource } from '../../db/connection/replicas.ts';
import { nextTurn } from '../../lib/load/slices.ts';
import { maxAcceptedConnections, readOpenFilesLimit } from '../../lib/process/open-files.ts';
import type { Deps } from '../../services/deps.ts';
import { recordRead } from '../../services/operations/audit.ts';
import type { WorkerRounds } from '../../services/operations/backlog.ts';
import { registerIngress } from '../history/ingress/ingress.ts';
import { registerServiceRequests } from '../history/service-requests.ts';
import { registerHealth } from '../operations/health.ts';
import { registerAcknowledgePage } from '../pages/acknowledge-page.ts';
import { registerCalendar } from '../pages/calendar.ts';
import { registerConsole } from '../pages/console.ts';
import { registerDocs } from '../pages/docs/docs.ts';
import { registerInboxDemo, registerInboxFiles } from '../pages/inbox-files.ts';
import { registerPreferencePage } from '../pages/preference-page.ts';
import { registerPages } from '../pages/reference.ts';
import { registerTracking } from '../pages/tracking.ts';
import { isStorable, type Resources } from '../resolve.ts';
import { routes } from '../routes.ts';
import { type Admission, type Admissions, chargeBody, createAdmissions } from './auth.ts';
import { clientErrorHandler, sendError } from './errors.ts';
import { acceptFiles, anyType } from './file-bodies.ts';
import { LargeBodies } from './large-bodies.ts';
import { pageTimeOf, readChunk, sendList } from './lists.ts';
import { refuseOtherMethods } from './methods.ts';
import { type Metrics, type MetricsAccess, registerMetrics } from './metrics/metrics.ts';
import { OpenRequests } from './open-requests.ts';
import { namedSchemas, registerOpenApi, schemaOf } from './openapi/openapi.ts';
import type { Call, Caller, ListEndpoint, Page, Route } from './route.ts';
import { cleanBody, cleanQuery, createValidator, decodeBody, refuseWideOrDeep } from './validation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    admission: Admission | null;
    /** Set for a trigger that is traced. */
    traceId: string | undefined;
    /** Size of the body, once it was read. */
    bodyBytes: number;
  }
  interface FastifyContextConfig {
    /** Media type of the body if it is not JSON. */
    consumes?: string;
  }
}

interface ServerOptions {
  deps: Deps;
  logger: FastifyBaseLogger;
  /** False for a worker, which serves only health checks and metrics. */
  withApi: boolean;
  baseUrl: string | undefined;
  trustProxy: readonly string[];
  corsOrigins: readonly string[];
  /** Whether the demo page is public: only with the embedded database. */
  withDemo?: boolean;
  metrics: Metrics;
  metricsAccess: MetricsAccess;
  /** Rounds of this process's worker, if it has one. */
  rounds?: WorkerRounds;
  /** Called before routes are added, to observe them. */
  describe?: (app: FastifyInstance) => Promise<void>;
}

/** Fits a percent-encoded email of 254 multi-byte characters. */
const maxParameterLength = 2_300;
const bodyLimit = 1024 * 1024;
/** For unauthenticated requests, which carry little more than credentials. */
const publicBodyLimit = 16 * 1024;
const requestTimeoutMs = 60_000;
/** All methods that Node parses; CONNECT never becomes a request. */
const methods = METHODS.filter(method => method !== 'CONNECT');

export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { deps, logger, withApi, baseUrl, trustProxy, corsOrigins } = options;
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    // The one log line per request contains its id, so no request needs its own logger.
    childLoggerFactory: parent => parent,
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: 'idle',
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxParameterLength },
    // No hook has run if the path could not be parsed.
    frameworkErrors: (error, request, reply) =>
      void sendError(error, request, reply.headers(commonHeaders(request, baseUrl))),
    clientErrorHandler,
    schemaController: { bucket: schemaBucket, compilersFactory: { buildSerializer: buildLazySerializer } },
  });

  const maxConnections = maxAcceptedConnections(readOpenFilesLimit());
  if (Number.isFinite(maxConnections)) app.server.maxConnections = maxConnections;
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  app.decorateRequest('admission', null);
  app.decorateRequest('traceId', undefined);
  app.decorateRequest('bodyBytes', 0);
  const schemas = namedSchemas(routes);
  for (const schema of schemas) app.addSchema(schema);
  app.setValidatorCompiler(createValidator(schemas));
  app.setErrorHandler(sendError);
  const page = withApi ? registerConsole(app) : undefined;
  app.setNotFoundHandler((request, reply) => {
    const shown = page?.(request, reply);
    if (shown) return shown;
    throw pathNotFound(request.url.split('?', 1)[0]!);
  });
  app.removeContentTypeParser('text/plain');
  const largeBodies = new LargeBodies();
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    if (bytes.length === 0) return done(null, undefined);
    return largeBodies.run(request, bytes, () => {
      if (request.raw.socket.destroyed) return done(new AppError('request.malformed', 'the connection was closed'));
      const text = decodeBody(bytes);
      if (text === undefined) return done(notUtf8());
      try {
        refuseWideOrDeep(text, request.routeOptions.bodyLimit);
      } catch (error) {
        return done(error as Error);
      }
      return largeBodies.run(request, bytes, () => parseJson(request, text, done));
    });
  });
  let refuseMethod: (request: FastifyRequest) => void = () => {};
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(commonHeaders(request, baseUrl));
    // No path has an empty segment; the router would accept one as an alias of another path.
    const [path = ''] = request.url.split('?', 1);
    if (path.includes('//')) throw pathNotFound(path);
    for (const text of Object.values(request.params as Record<string, string>)) {
      if (!isStorable(text)) throw pathNotFound(path);
    }
    if (request.is404) refuseMethod(request);
  });
  logRequests(app);
  registerMetrics(app, options.metrics, options.metricsAccess);
  if (corsOrigins.length > 0) {
    const exposedHeaders = ['Link', 'Retry-After', 'X-Request-Id'];
    const allowedMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
    await app.register(cors, {
      origin: [...corsOrigins],
      methods: allowedMethods,
      exposedHeaders,
      strictPreflight: false,
    });
  }
  registerHealth(app, deps, options.rounds);
  if (withApi) {
    // Cookies are parsed on demand, not for every trigger.
    await app.register(cookie, { hook: false });
    if (options.describe) await options.describe(app);
    registerOpenApi(app);
    registerPages(app);
    registerDocs(app);
    await registerPreferencePage(app, deps);
    await registerAcknowledgePage(app, deps);
    registerTracking(app, deps);
    registerCalendar(app, deps);
    registerInboxFiles(app);
    if (options.withDemo) registerInboxDemo(app, deps);
    const { admit, readmit } = createAdmissions(deps, baseUrl);
    const openRequests = new OpenRequests(app, deps.tenantCache, readmit);
    const admitAndWatch = async (route: Route, request: FastifyRequest, reply: FastifyReply) => {
      const readAt = deps.tenantCache.generation;
      const admission = await admit(route, request, reply);
      openRequests.add(route, request, reply, admission, readAt);
      return admission;
    };
    const linkFor = (request: FastifyRequest) => {
      const origin = baseUrl ?? `${request.protocol}://${request.host}`;
      return (path: string) => origin + path;
    };
    await registerServiceRequests(app, { deps, linkFor, largeBodies });
    await registerIngress(app, { deps, largeBodies });
    for (const route of routes) {
      if (!route.consumes) addRoute(app, route, deps, admitAndWatch, linkFor, largeBodies);
      else await app.register(async scope => addFileRoute(scope, route, deps, admitAndWatch, linkFor, largeBodies));
    }
    refuseMethod = refuseOtherMethods(app, routes);
  }
  return app;
}

/** Shares the schemas, which never change. Fastify's own bucket copies all of them for each route: 90 ms of a start. */
function schemaBucket(parent?: unknown) {
  const schemas = { ...(parent as Record<string, unknown>) };
  return {
    // The return value is not used, whatever its type says.
    add: (schema: unknown) => Object.assign(schemas, { [(schema as { $id: string }).$id]: schema }) as never,
    getSchema: (id: string) => schemas[id],
    getSchemas: () => schemas,
  };
}

type Compile = ReturnType<ReturnType<typeof SerializerSelector>>;

/** Shared by all servers of the process, which have the same routes: tests start many. */
const serializers = new Map<string, ReturnType<Compile>>();

/** Compiles a serializer when it is first used: compiling all of them would take half of the start-up time. */
const buildLazySerializer: ReturnType<typeof SerializerSelector> = (...schemas) => {
  const compile = SerializerSelector()(...schemas);
  return route => {
    const { method, url, httpStatus, contentType } = route as typeof route & { contentType?: string };
    const key = `${method} ${url} ${httpStatus} ${contentType}`;
    let serialize: ReturnType<Compile> | undefined;
    return data => {
      if (!serialize) {
        serialize = serializers.get(key) ?? compile(route);
        serializers.set(key, serialize);
      }
      return serialize(data);
    };
  };
};

function addRoute(
  app: FastifyInstance,
  route: Route,
  deps: Deps,
  admit: Admissions['admit'],
  linkFor: (request: FastifyRequest) => (path: string) => string,
  largeBodies: LargeBodies,
): void {
  const callOf = (
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Caller,
    source: ReadSource | undefined,
  ): Call & Resources => {
    const admission = request.admission!;
    const { session, resources } = admission;
    const { kind, id, name } = caller;
    const actor = {
      kind: kind === 'recipient' ? ('visitor' as const) : kind,
      id,
      name,
      origin: request.ip,
      requestId: request.id,
    };
    return {
      ...resources,
      deps: { ...deps, ...(source && { db: source.db }), actor, requireAdmitted: () => requireAdmitted(admission) },
      caller,
      session,
      link: linkFor(request),
      request,
      reply,
    };
  };
  app.route({
    method: route.method,
    url: route.path,
    schema: schemaOf(route),
    bodyLimit: route.bodyLimit ?? (route.permission === 'public' ? publicBodyLimit : bodyLimit),
    config: { consumes: route.consumes },
    onRequest: async (request, reply) => {
      request.admission = await admit(route, request, reply);
      largeBodies.admit(request, reply);
    },
    // Does not run for requests whose body is not read, such as GET.
    preParsing: async request => refuseEncoded(request),
    preValidation: async request => {
      // Routes without query parameters ignore the query.
      if (route.query || 'list' in route) cleanQuery(request);
      if (!route.body) return;
      chargeBody(request);
      // If nothing is required, a missing body counts as an empty one.
      if (request.body === undefined && allOptional(route.body)) request.body = {};
      if (route.consumes && request.body === undefined) throw invalid({ body: ['is required: send the file'] });
      const isLarge = Number(request.headers['content-length'] ?? bodyLimit) >= bodyLimit;
      if (isLarge) await nextTurn();
      if (route.consumes !== anyType) cleanBody(request);
      if (isLarge) await nextTurn();
    },
    handler: async (request, reply) => {
      const { caller = anonymousCaller } = request.admission!;
      const { replicaReads } = deps;
      const source = route.readsReplica ? await replicaReads?.open(caller, pageTimeOf(request)) : undefined;
      const call = callOf(request, reply, caller, source);
      if ('list' in route) {
        const serialize = reply.compileSerializationSchema(route.item as object as Record<string, unknown>) as (
          row: unknown,
        ) => string;
        const listCall = { ...call, query: request.query as never };
        const { personal } = route;
        const record = personal && (() => recordWholeRead(personal, call, request));
        const fetch = (page: Page<string>) => readChunk(route, listCall, page, serialize);
        return sendList(request, reply, call.link, fetch, record, source?.asOf);
      }
      reply.code(route.status);
      const answer = route.handle({ ...call, body: request.body as never, query: request.query as never });
      if (!replicaReads || route.method === 'GET') return answer;
      return Promise.resolve(answer).finally(() => replicaReads.announceWrite(deps, caller));
    },
  });
}

/** Throws if what allowed the request has ended, so that a long change is not committed. */
function requireAdmitted({ hasEnded }: Admission): void {
  if (hasEnded) throw new AppError('session.expired', 'the key, session or token of the request is no longer valid');
}

/** Compressed bodies are not accepted: a few bytes could expand beyond the limit. */
function refuseEncoded({ method, headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || method === 'GET' || method === 'HEAD') return;
  throw new AppError('request.encoding', `send the body without Content-Encoding: ${encoding.slice(0, 50)}`);
}

function pathNotFound(path: string): AppError {
  return new AppError('path.not_found', `${path} does not exist: see /docs`);
}

/** One year. Without subdomains, which may not be under Belfry's control. */
const strictTransport = 'max-age=31536000';

/** Headers of every response. API responses contain personal data that changes, so they are never cached. */
function commonHeaders(request: FastifyRequest, baseUrl: string | undefined): Record<string, string> {
  return {
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    ...(request.url.startsWith('/api/') && { 'cache-control': 'no-store' }),
    ...((request.protocol === 'https' || baseUrl?.startsWith('https:')) && {
      'strict-transport-security': strictTransport,
    }),
  };
}

/** Records in the audit log that a whole list with personal data was read. */
async function recordWholeRead(
  noun: NonNullable<ListEndpoint['personal']>,
  { deps, organization, project, list }: Call & Resources,
  request: FastifyRequest,
): Promise<void> {
  const { search } = request.query as { search?: string };
  const path = list ? `${project.slug}/${list.name}` : '';
  await recordRead(deps, organization.id, { action: 'read', noun, path, ...(search && { after: { search } }) });
}

/** The caller on public routes. */
const anonymousCaller: Caller = {
  kind: 'account',
  id: '',
  name: 'nobody',
  grant: new Grant([], null),
};

/** Adds a route whose body is a file, in its own Fastify scope: other routes do not accept its media type. */
function addFileRoute(app: FastifyInstance, ...rest: Tail<Parameters<typeof addRoute>>): void {
  const [route, , , , largeBodies] = rest;
  acceptFiles(app, route.consumes!, largeBodies);
  addRoute(app, ...rest);
}

type Tail<All extends unknown[]> = All extends [unknown, ...infer Rest] ? Rest : never;

function notUtf8(): AppError {
  return new AppError('request.malformed', 'the body is not valid UTF-8');
}

function allOptional(schema: object): boolean {
  const { type, required } = schema as { type?: string; required?: string[] };
  return type === 'object' && !required?.length;
}

/** Returns the `x-request-id` of the caller or a proxy if it is well-formed, else a new id. */
function requestId(request: { headers: Record<string, string | string[] | undefined> }): string {
  const header = request.headers['x-request-id'];
  return typeof header === 'string' && /^[\w.:+/=-]{1,128}$/.test(header) ? header : randomUUID();
}

/** Logs one line per request, with the pattern of the route and ids, but never an address, key, token, query or body. */
function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const { caller, resources } = request.admission ?? {};
    const line = {
      request_id: request.id,
      trace_id: request.traceId,
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 100) / 100,
      organization: resources?.organization?.slug,
      // Accounts and recipients are logged by id, because their names are email addresses.
      ...(caller && { [caller.kind]: caller.kind === 'key' ? caller.name : Number(caller.id) }),
    };
    if (reply.statusCode >= 500) request.log.error(line, 'request');
    else request.log.info(line, 'request');
  });
}
