/** Types and helpers to define a route: an endpoint plus a line in `routes.ts`. `server.ts` registers it. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { invalid } from '../../core/errors.ts';
import type { Grant, Permission } from '../../core/identity/permissions.ts';
import { isUuid } from '../../core/ids.ts';
import type { JsonPage } from '../../services/audience/users.ts';
import type { Deps } from '../../services/deps.ts';
import type { Granter } from '../../services/identity/key-rules.ts';
import type { Session } from '../../services/identity/sessions.ts';
import type { PathParameterName, Resources, SomeResources } from '../resolve.ts';
import { CascadeQuery, Deleted, DeleteQuery, deletionOptions } from './schemas.ts';

/** Returns the slugs below the organization, such as `shop/web/order-paid`. */
export function slugPathOf({ project, application, event, channel }: SomeResources): string {
  return [project, application, event, channel].flatMap(resource => resource?.slug ?? []).join('/');
}

/** A program with an API key, a signed-in account, or a recipient with a token. */
export interface Caller {
  kind: 'key' | 'account' | 'recipient';
  id: string;
  /** Name of the key, email of the account, or username of the recipient. */
  name: string;
  /** Permissions in the organization of the path; without one, the account's permissions on the instance. */
  grant: Grant;
  /** Limits of the API key; a key that it creates cannot exceed them. */
  limits?: Granter['limits'];
  /** When the key, session or recipient token expires, in milliseconds since the epoch. */
  expiresAt?: number;
}

/** Returns the slugs of the path, by the names of their parameters. */
export function slugsOf({ organization, project, application, event }: SomeResources) {
  return { org: organization!.slug, prj: project?.slug, app: application?.slug, evt: event?.slug };
}

/** Returns the API path of a resource. */
export function apiPathOf(resources: SomeResources): string {
  const { org, prj, app, evt } = slugsOf(resources);
  const parts = [`/api/o/${org}/`, prj && `p/${prj}/`, app && `a/${app}/`, evt && `e/${evt}/`];
  return parts.filter(Boolean).join('');
}

export interface Call {
  deps: Deps;
  /** A placeholder on public routes. */
  caller: Caller;
  /** Set for a signed-in account; always set on `account` routes. */
  session: Session | undefined;
  /** Turns a path into an absolute URL of this server. */
  link: (path: string) => string;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** A page of a list: the row to start after, empty or 0 for the beginning, and the number of rows. */
export interface Page<After = number> {
  after: After;
  limit: number;
}

/** The part of a route that the table in `routes.ts` adds to its endpoint. */
interface RouteLine {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** `public`: no credentials. `account`: any signed-in account, but no API key. */
  permission: Permission | 'public' | 'account';
}

interface EndpointBase<Name extends PathParameterName> {
  /** Parameters that its path must have. */
  params: readonly Name[];
  /** The operationId in OpenAPI, also used by tests. */
  id: string;
  summary: string;
  description?: string;
  tag: string;
  status: 200 | 201 | 302;
  body?: TSchema;
  /** Media type of the body if it is not JSON; the handler receives it as text, or as a Buffer if any type is accepted. */
  consumes?: 'text/csv' | '*/*';
  /** Media type of the response if it is not JSON. */
  produces?: 'text/csv' | 'application/octet-stream' | 'application/x-ndjson' | 'text/event-stream';
  bodyLimit?: number;
  /** Error statuses beyond those that follow from its method, path and body. */
  problems?: readonly (400 | 404 | 409 | 429 | 503)[];
  /** For lists, statistics, searches and exports that decide nothing: they may be up to 5 s old, read from a replica. */
  readsReplica?: true;
  /** Whether a recipient token is accepted as `?token=`, for requests to which a browser cannot add headers. */
  takesTokenInQuery?: boolean;
  query?: TSchema;
  headers?: TSchema;
}

/** Returns one value. */
export interface PlainEndpoint<Name extends PathParameterName = PathParameterName> extends EndpointBase<Name> {
  answer: TSchema;
  handle: (call: Call & Resources & { body: never; query: never }) => unknown;
}

/** Returns an array: streamed in full, or page by page. */
export interface ListEndpoint<Name extends PathParameterName = PathParameterName> extends EndpointBase<Name> {
  item: TSchema;
  /** What kind of personal data it contains. If set, reading the whole list is recorded in the audit log. */
  personal?: 'account' | 'user' | 'list';
  list: (call: Call & Resources & { query: never }, page: Page<string>) => Promise<ListRow[] | PartialList>;
  /** Returns the page as JSON built by the database, for long lists; undefined if this query is not supported. */
  listJson?: (call: Call & Resources & { query: never }, page: Page<string>) => Promise<JsonPage> | undefined;
}

/** Rows of a page that may be incomplete, and the cursor from which to continue. */
export interface PartialList<Row = ListRow> {
  rows: Row[];
  next: string | undefined;
}

/** A row with the cursor after which the next page starts, else its id serves as the cursor. */
export type ListRow = { id: number | string } | { cursor: string };

export type Route = RouteLine & (PlainEndpoint | ListEndpoint);

type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Extract<Name, PathParameterName> | NamesIn<Rest>
  : never;

/** Defines a line of the table. An endpoint that needs a parameter which the path lacks does not compile. */
function line(method: RouteLine['method']) {
  return <const Path extends string>(
    path: Path,
    permission: RouteLine['permission'],
    endpoint: PlainEndpoint<NamesIn<Path>> | ListEndpoint<NamesIn<Path>>,
  ): Route => ({ ...endpoint, method, path, permission });
}

export const get = line('GET');
export const post = line('POST');
export const put = line('PUT');
export const patch = line('PATCH');
export const del = line('DELETE');

interface EntryEndpoints<Above extends PathParameterName, Own extends PathParameterName> {
  list: ListEndpoint<Above>;
  create: PlainEndpoint<Above>;
  retrieve: PlainEndpoint<Above | Own>;
  update: PlainEndpoint<Above | Own>;
  delete: PlainEndpoint<Above | Own>;
}

type NounWith<Action extends string> = Permission extends infer P
  ? P extends `${infer N}:${Action}`
    ? N
    : never
  : never;

/** Returns the lines of a noun's five alike endpoints, which need the permissions to read and to write. */
export function entryRoutes<const Path extends string, const Own extends PathParameterName>(
  path: Path,
  own: Own,
  permission: NounWith<'read'> & NounWith<'write'>,
  endpoints: EntryEndpoints<NamesIn<Path>, Own>,
): Route[] {
  const one: string = `${path}:${own}/`;
  const [read, write] = [`${permission}:read`, `${permission}:write`] as const;
  return [
    { ...endpoints.list, method: 'GET', path, permission: read },
    { ...endpoints.create, method: 'POST', path, permission: write },
    { ...endpoints.retrieve, method: 'GET', path: one, permission: read },
    { ...endpoints.update, method: 'PATCH', path: one, permission: write },
    { ...endpoints.delete, method: 'DELETE', path: one, permission: write },
  ];
}

/** The default of `tag` is that of the endpoints, and of `status` 200. */
type Defaults = Partial<Pick<PlainEndpoint, 'tag' | 'status'>>;

type ListDefinition<Item extends TSchema, Query extends TSchema> = Omit<
  ListEndpoint,
  'params' | 'list' | 'listJson' | 'item' | 'query' | 'status' | 'tag'
> &
  Defaults & { item: Item; query?: Query };

type ListCall<Name extends PathParameterName, Query extends TSchema> = Call &
  Resources<Name> & { query: Static<Query> };

/** Returns the functions that define endpoints with this tag in OpenAPI. */
export function endpoints(tag: string) {
  const complete = <Endpoint>(params: readonly PathParameterName[], definition: object) =>
    ({ tag, status: 200, ...definition, params }) as unknown as Endpoint;

  /** Defines an endpoint that returns one value. Infers the handler's types from the parameters and schemas. */
  function plain<
    const Name extends PathParameterName,
    Body extends TSchema = TSchema,
    Query extends TSchema = TSchema,
    Answer extends TSchema = TSchema,
  >(
    params: readonly Name[],
    endpoint: Omit<PlainEndpoint, 'params' | 'handle' | 'body' | 'query' | 'answer' | 'status' | 'tag'> &
      Defaults & {
        body?: Body;
        query?: Query;
        answer: Answer;
        handle: (
          call: Call & Resources<Name> & { body: Static<Body>; query: Static<Query> },
        ) => Static<Answer> | Promise<Static<Answer>>;
      },
  ): PlainEndpoint<Name> {
    return complete(params, endpoint);
  }

  /** Defines an endpoint that deletes an object, or returns what would be deleted. `delete` returns how many records of each kind. */
  function deletion<const Name extends PathParameterName>(
    params: readonly Name[],
    {
      cascades,
      delete: remove,
      ...endpoint
    }: Pick<PlainEndpoint, 'id' | 'summary' | 'description' | 'problems'> & {
      /** Whether `cascade` is accepted. */
      cascades?: true;
      delete: (
        call: Call & Resources<Name>,
        options: { cascade: boolean; dryRun: boolean },
      ) => Promise<Record<string, number>>;
    },
  ): PlainEndpoint<Name> {
    return plain(params, {
      ...endpoint,
      query: cascades ? CascadeQuery : DeleteQuery,
      answer: Deleted,
      handle: async call => {
        const options = deletionOptions(call.query);
        return { deleted: await remove(call, options), ...(options.dryRun && { dry_run: true }) };
      },
    });
  }

  /** Defines a list in the order of numeric ids. */
  function list<const Name extends PathParameterName, Item extends TSchema, Query extends TSchema = TSchema>(
    params: readonly Name[],
    endpoint: ListDefinition<Item, Query> & {
      list: (call: ListCall<Name, Query>, page: Page) => Promise<({ id: number } & Static<Item>)[]>;
    },
  ): ListEndpoint<Name> {
    const numbered = (call: never, { after, limit }: Page<string>) => {
      if (!/^\d{0,15}$/.test(after)) throw badCursor();
      return endpoint.list(call, { after: Number(after), limit });
    };
    return complete(params, { ...endpoint, list: numbered });
  }

  /** Defines a list in the order of time-based UUIDs, newest first unless documented otherwise. */
  function history<const Name extends PathParameterName, Item extends TSchema, Query extends TSchema = TSchema>(
    params: readonly Name[],
    endpoint: ListDefinition<Item, Query> & {
      list: (call: ListCall<Name, Query>, page: Page<string>) => Promise<({ id: string } & Static<Item>)[]>;
    },
  ): ListEndpoint<Name> {
    const identified = (call: never, page: Page<string>) => {
      if (page.after !== '' && !isUuid(page.after)) throw badCursor();
      return endpoint.list(call, page);
    };
    return complete(params, { ...endpoint, list: identified });
  }

  /** Defines a list in its own order: each row has a cursor, which the handler parses. */
  function ordered<const Name extends PathParameterName, Item extends TSchema, Query extends TSchema = TSchema>(
    params: readonly Name[],
    endpoint: ListDefinition<Item, Query> & {
      list: (
        call: ListCall<Name, Query>,
        page: Page<string>,
      ) => Promise<({ cursor: string } & Static<Item>)[] | PartialList<{ cursor: string } & Static<Item>>>;
      listJson?: (call: ListCall<Name, Query>, page: Page<string>) => Promise<JsonPage> | undefined;
    },
  ): ListEndpoint<Name> {
    return complete(params, endpoint);
  }

  return { plain, deletion, list, history, ordered };
}

/** For endpoints that name their tag themselves. */
export const { plain, list, history, ordered } = endpoints('');

export function badCursor() {
  return invalid({ cursor: ['is invalid: use a cursor from a Link header, or start without one'] });
}

/** Defines the same endpoint for organizations and for projects. */
export function forOrganizationAndProject<Endpoint>(
  make: (owner: 'Organization' | 'Project', lower: string) => Endpoint,
): [ofOrganization: Endpoint, ofProject: Endpoint] {
  return [make('Organization', 'organization'), make('Project', 'project')];
}
