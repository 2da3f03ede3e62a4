/** Makes the route table work: one Fastify instance with admission, validation, errors, logs, metrics and documents. */
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
import { AppError, invalid } from '../core/errors.ts';
import { recordRead } from '../services/audit.ts';
import type { Deps } from '../services/deps.ts';
import type { WorkerRounds } from '../services/queue.ts';
import { registerAcknowledgePage } from './acknowledge-page.ts';
import { type Admission, createAdmission } from './auth.ts';
import { registerConsole } from './console.ts';
import { registerDocs } from './docs/docs.ts';
import { sendError } from './errors.ts';
import { registerHealth } from './health.ts';
import { registerInboxDemo, registerInboxFiles } from './inbox-files.ts';
import { readStretch, sendList } from './lists.ts';
import { refuseOtherMethods } from './methods.ts';
import { type Metrics, type MetricsAccess, registerMetrics } from './metrics.ts';
import { namedSchemas, registerOpenApi, schemaOf } from './openapi.ts';
import { registerPages } from './pages.ts';
import { registerPreferencePage } from './preference-page.ts';
import type { Resources } from './resolve.ts';
import type { Call, Caller, ListEndpoint, Route } from './route.ts';
import { routes } from './routes.ts';
import { cleanBody, cleanQuery, createValidator, decodeBody, refuseWideOrDeep } from './validation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    admission: Admission | null;
    /** Of a trigger that is traced. */
    traceId: string | undefined;
  }
  interface FastifyContextConfig {
    /** The media type of the body, where it is not JSON. */
    consumes?: string;
  }
}

export interface ServerOptions {
  deps: Deps;
  logger: FastifyBaseLogger;
  /** A worker answers for its health and metrics only. */
  withApi: boolean;
  baseUrl: string | undefined;
  trustProxy: readonly string[];
  corsOrigins: readonly string[];
  /** Whether the demo may be shown to whoever looks: on a database that Belfry started itself. */
  withDemo?: boolean;
  metrics: Metrics;
  metricsAccess: MetricsAccess;
  /** Of the worker of this process, if it has one. */
  rounds?: WorkerRounds;
  /** Sees every route before it is added. */
  describe?: (app: FastifyInstance) => Promise<void>;
}

/** Long enough for a percent-encoded email of 254 characters, each of several bytes. */
const longestParameter = 2_300;
const bodyLimit = 1024 * 1024;
/** Of whoever has not said who they are: credentials, and little else. */
const publicBodyLimit = 16 * 1024;
const requestTimeoutMs = 60_000;
/** Everything that Node reads as a method; CONNECT never becomes a request. */
const methods = METHODS.filter(method => method !== 'CONNECT');

export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { deps, logger, withApi, baseUrl, trustProxy, corsOrigins } = options;
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    // The one line a request names its id itself: no logger of its own for each request.
    childLoggerFactory: parent => parent,
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: 'idle',
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: longestParameter },
    // No hook has run when the path could not even be read.
    frameworkErrors: (error, request, reply) =>
      void sendError(error, request, reply.headers(commonHeaders(request, baseUrl))),
    clientErrorHandler,
    schemaController: { bucket: schemaBucket, compilersFactory: { buildSerializer: lazily } },
  });

  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  app.decorateRequest('admission', null);
  app.decorateRequest('traceId', undefined);
  const schemas = namedSchemas(routes);
  for (const schema of schemas) app.addSchema(schema);
  app.setValidatorCompiler(createValidator(schemas));
  app.setErrorHandler(sendError);
  const page = withApi ? registerConsole(app) : undefined;
  app.setNotFoundHandler((request, reply) => {
    const shown = page?.(request, reply);
    if (shown) return shown;
    throw nothingAt(request.url.split('?', 1)[0]!);
  });
  app.removeContentTypeParser('text/plain');
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    if (bytes.length === 0) return done(null, undefined);
    const text = decodeBody(bytes);
    if (text === undefined) return done(notUtf8());
    try {
      refuseWideOrDeep(text);
    } catch (error) {
      return done(error as Error);
    }
    return parseJson(request, text, done);
  });
  let refuseMethod: (request: FastifyRequest) => void = () => {};
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(commonHeaders(request, baseUrl));
    // No path of ours has an empty part: what a router makes of one is a second name for something.
    const [path = ''] = request.url.split('?', 1);
    if (path.includes('//')) throw nothingAt(path);
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
    // Cookies are read where a person calls, not for every trigger.
    await app.register(cookie, { hook: false });
    if (options.describe) await options.describe(app);
    registerOpenApi(app);
    registerPages(app);
    registerDocs(app);
    await registerPreferencePage(app, deps);
    await registerAcknowledgePage(app, deps);
    registerInboxFiles(app);
    if (options.withDemo) registerInboxDemo(app, deps);
    const admit = createAdmission(deps, baseUrl);
    const linkFor = (request: FastifyRequest) => {
      const origin = baseUrl ?? `${request.protocol}://${request.host}`;
      return (path: string) => origin + path;
    };
    for (const route of routes) {
      if (!route.consumes) addRoute(app, route, deps, admit, linkFor);
      else await app.register(async scope => addTextRoute(scope, route, deps, admit, linkFor));
    }
    refuseMethod = refuseOtherMethods(app, routes);
  }
  return app;
}

/** Fastify's own copies all of them for each route: 90 ms of a start. Ours are never changed. */
function schemaBucket(parent?: unknown) {
  const schemas = { ...(parent as Record<string, unknown>) };
  return {
    // Nobody reads what this returns, whatever its type says.
    add: (schema: unknown) => Object.assign(schemas, { [(schema as { $id: string }).$id]: schema }) as never,
    getSchema: (id: string) => schemas[id],
    getSchemas: () => schemas,
  };
}

type Compile = ReturnType<ReturnType<typeof SerializerSelector>>;

/** Those of all servers of the process, which have the same routes. */
const serializers = new Map<string, ReturnType<Compile>>();

/** When an answer is first written: all serializers together would take half of the time that a start takes. */
const lazily: ReturnType<typeof SerializerSelector> = (...given) => {
  const compile = SerializerSelector()(...given);
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
  admit: ReturnType<typeof createAdmission>,
  linkFor: (request: FastifyRequest) => (path: string) => string,
): void {
  const callOf = (request: FastifyRequest, reply: FastifyReply): Call & Resources => {
    const { caller = nobody, session, resources } = request.admission!;
    const { kind, id, name } = caller;
    const actor = {
      kind: kind === 'recipient' ? ('visitor' as const) : kind,
      id,
      name,
      origin: request.ip,
      requestId: request.id,
    };
    return { ...resources, deps: { ...deps, actor }, caller, session, link: linkFor(request), request, reply };
  };
  app.route({
    method: route.method,
    url: route.path,
    schema: schemaOf(route),
    bodyLimit: route.bodyLimit ?? (route.permission === 'public' ? publicBodyLimit : bodyLimit),
    config: { consumes: route.consumes },
    onRequest: async (request, reply) => {
      request.admission = await admit(route, request, reply);
    },
    // Where no body is read, as on a GET, this never runs for one.
    preParsing: async request => refuseEncoded(request),
    preValidation: async request => {
      // What a route does not ask for, it does not look at.
      if (route.query || 'list' in route) cleanQuery(request);
      if (!route.body) return;
      // Where nothing is required, no body at all is an empty one.
      if (request.body === undefined && allOptional(route.body)) request.body = {};
      if (route.consumes && request.body === undefined) throw invalid({ body: ['is required: send the file'] });
      cleanBody(request);
    },
    handler: async (request, reply) => {
      const call = callOf(request, reply);
      if ('list' in route) {
        const serialize = reply.compileSerializationSchema(route.item as object as Record<string, unknown>) as (
          row: unknown,
        ) => string;
        const asked = { ...call, query: request.query as never };
        const { personal } = route;
        const record = personal && (() => recordWholeRead(personal, call, request));
        return sendList(request, reply, call.link, page => readStretch(route, asked, page, serialize), record);
      }
      reply.code(route.status);
      return route.handle({ ...call, body: request.body as never, query: request.query as never });
    },
  });
}

/** A body is read as it comes: what a few bytes unfold to is never more than the limit. */
function refuseEncoded({ method, headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || method === 'GET' || method === 'HEAD') return;
  throw new AppError('request.encoding', `send the body as it is, without Content-Encoding: ${encoding.slice(0, 50)}`);
}

function nothingAt(path: string): AppError {
  return new AppError('path.not_found', `there is nothing at ${path}: see /docs`);
}

/** A year. Not for subdomains: they are not ours to decide about. */
const strictTransport = 'max-age=31536000';

/** On every answer. What the API says is about people and changes: it is for the caller alone, and for now. */
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

/** Of the people of an organization, or of a list. */
async function recordWholeRead(
  noun: NonNullable<ListEndpoint['personal']>,
  { deps, organization, project, list }: Call & Resources,
  request: FastifyRequest,
): Promise<void> {
  const { search } = request.query as { search?: string };
  const path = list ? `${project.slug}/${list.name}` : '';
  await recordRead(deps, organization.id, { action: 'read', noun, path, ...(search && { after: { search } }) });
}

/** On a public route. */
const nobody: Caller = {
  kind: 'account',
  id: '',
  name: 'nobody',
  permissions: [],
  scope: null,
};

/** In a scope of its own, for what is read there is no body anywhere else. */
function addTextRoute(app: FastifyInstance, ...rest: Tail<Parameters<typeof addRoute>>): void {
  const [route] = rest;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(route.consumes!, { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    const [, charset = 'utf-8'] = /;\s*charset="?([^";\s]+)/i.exec(request.headers['content-type'] ?? '') ?? [];
    const text = /^utf-?8$/i.test(charset) ? decodeBody(bytes) : undefined;
    if (text !== undefined) return done(null, text);
    const told = 'the file is not encoded as UTF-8: save it as "CSV UTF-8" and send it again';
    return done(new AppError('request.malformed', told));
  });
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

/** What the caller or a proxy named the request, when that is a sane name; else a new one. */
function requestId(request: { headers: Record<string, string | string[] | undefined> }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:+/=-]{1,128}$/.test(given) ? given : randomUUID();
}

/** One line a request: never a key, a password, a body or a query. */
function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const line = {
      request_id: request.id,
      trace_id: request.traceId,
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 100) / 100,
      [request.admission?.caller?.kind ?? 'key']: request.admission?.caller?.name,
    };
    if (reply.statusCode >= 500) request.log.error(line, 'request');
    else request.log.info(line, 'request');
  });
}

/** What is not even HTTP gets a refusal too; there is no request to answer. */
function clientErrorHandler(error: NodeJS.ErrnoException, socket: import('node:net').Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, title] = refusals[error.code ?? ''] ?? [400, 'Bad Request'];
  const body = JSON.stringify({
    type: '/docs/problems/#request.malformed',
    title,
    status,
    detail: 'what arrived cannot be read as an HTTP request',
    code: 'request.malformed',
    request_id: randomUUID(),
  });
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\nX-Content-Type-Options: nosniff\r\n` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const refusals: Record<string, [status: number, title: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};
