/** How a route is written down: an endpoint in the noun's file, a line in `routes.ts`. `server.ts` makes it work. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { invalid } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import type { Permission } from '../core/permissions.ts';
import type { Deps } from '../services/deps.ts';
import type { Session } from '../services/sessions.ts';
import type { WrittenPage } from '../services/users.ts';
import type { PathParameterName, Resources, Scope, SomeResources } from './resolve.ts';

/** What a path names, below the organization: shop/web/order-paid. */
export function pathOf({ project, application, event, channel }: SomeResources): string {
  return [project, application, event, channel].flatMap(place => place?.slug ?? []).join('/');
}

/** Who calls: a program with its key, a person who is signed in, or a recipient with a token of their own. */
export interface Caller {
  kind: 'key' | 'account' | 'recipient';
  id: string;
  /** Of the key, the email of the account, or the recipient's username. */
  name: string;
  /** In the organization that the path names; of a person where it names none, on the instance. */
  permissions: readonly string[];
  /** Null for a person where the path names no organization. */
  scope: Scope | null;
  /** When the token of a recipient ends, in milliseconds. */
  expiresAt?: number;
}

/** The slugs that a path is made of. */
export function slugsOf({ organization, project, application, event }: SomeResources) {
  return { org: organization!.slug, prj: project?.slug, app: application?.slug, evt: event?.slug };
}

/** Where the thing is that a path with these names leads to. */
export function placeOf(found: SomeResources): string {
  const { org, prj, app, evt } = slugsOf(found);
  const steps = [`/api/o/${org}/`, prj && `p/${prj}/`, app && `a/${app}/`, evt && `e/${evt}/`];
  return steps.filter(Boolean).join('');
}

export interface Call {
  deps: Deps;
  /** Not there on public routes. */
  caller: Caller;
  /** Of a person who is signed in; always there on routes of accounts. */
  session: Session | undefined;
  /** An absolute address on this server. */
  link: (path: string) => string;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** A stretch of a list: after which row, or empty for the beginning, and how many. */
export interface Page<After = number> {
  after: After;
  limit: number;
}

/** What the table says of a route: with the endpoint of the noun's file it is complete. */
interface Line {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** `public`: anybody. `account`: whoever is signed in, but no key. */
  permission: Permission | 'public' | 'account';
}

interface EndpointBase<Name extends PathParameterName> {
  /** What its path has to name, at least. */
  params: readonly Name[];
  /** operationId in the OpenAPI document, and the name that tests and metrics use; the endpoint is exported under it. */
  id: string;
  summary: string;
  description?: string;
  tag: string;
  status: 200 | 201 | 302;
  body?: TSchema;
  /** The media type of the body, where it is not JSON: it comes as text. */
  consumes?: 'text/csv';
  /** The media type of the answer, where it is not JSON. */
  produces?: 'text/csv' | 'application/x-ndjson' | 'text/event-stream';
  bodyLimit?: number;
  /** Statuses of failure beyond those that follow from its method, path and body. */
  problems?: readonly (400 | 404 | 409 | 429 | 503)[];
  /** Whether a recipient's token may come as `?token=`, for what a browser opens without headers. */
  takesTokenInQuery?: boolean;
  query?: TSchema;
  headers?: TSchema;
}

/** Answers one value. */
export interface PlainEndpoint<Name extends PathParameterName = PathParameterName> extends EndpointBase<Name> {
  answer: TSchema;
  handle: (call: Call & Resources & { body: never; query: never }) => unknown;
}

/** Answers an array, whole and streamed or page by page. */
export interface ListEndpoint<Name extends PathParameterName = PathParameterName> extends EndpointBase<Name> {
  item: TSchema;
  /** What people are in it, where reading all of them at once belongs into the audit log. */
  personal?: 'account' | 'user' | 'list';
  list: (call: Call & Resources & { query: never }, page: Page<string>) => Promise<ListRow[] | ListLook>;
  /** The same written by the database, for a list that may be very long; undefined where this one cannot be. */
  written?: (call: Call & Resources & { query: never }, page: Page<string>) => Promise<WrittenPage> | undefined;
}

/** What one look found, and where the next one goes on although this one was not filled. */
export interface ListLook<Row = ListRow> {
  rows: Row[];
  next: string | undefined;
}

/** What the next page comes after: the cursor, else the id. */
export type ListRow = { id: number | string } | { cursor: string };

export type Route = Line & (PlainEndpoint | ListEndpoint);

type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Extract<Name, PathParameterName> | NamesIn<Rest>
  : never;

/** One line of the table. The compiler refuses an endpoint that needs more than the path names. */
function line(method: Line['method']) {
  return <const Path extends string>(
    path: Path,
    permission: Line['permission'],
    endpoint: PlainEndpoint<NamesIn<Path>> | ListEndpoint<NamesIn<Path>>,
  ): Route => ({ ...endpoint, method, path, permission });
}

export const get = line('GET');
export const post = line('POST');
export const put = line('PUT');
export const patch = line('PATCH');
export const del = line('DELETE');

/** Lets the compiler work out what the handler gets from the parameters and the schemas. */
export function plain<
  const Name extends PathParameterName,
  Body extends TSchema = TSchema,
  Query extends TSchema = TSchema,
  Answer extends TSchema = TSchema,
>(
  params: readonly Name[],
  endpoint: Omit<PlainEndpoint, 'params' | 'handle' | 'body' | 'query' | 'answer'> & {
    body?: Body;
    query?: Query;
    answer: Answer;
    handle: (
      call: Call & Resources<Name> & { body: Static<Body>; query: Static<Query> },
    ) => Static<Answer> | Promise<Static<Answer>>;
  },
): PlainEndpoint<Name> {
  return { ...endpoint, params } as unknown as PlainEndpoint<Name>;
}

type ListDefinition<Item extends TSchema, Query extends TSchema> = Omit<
  ListEndpoint,
  'params' | 'list' | 'written' | 'item' | 'query' | 'status'
> & { item: Item; query?: Query };

type ListCall<Name extends PathParameterName, Query extends TSchema> = Call &
  Resources<Name> & { query: Static<Query> };

/** In the order of numeric ids. */
export function list<const Name extends PathParameterName, Item extends TSchema, Query extends TSchema = TSchema>(
  params: readonly Name[],
  endpoint: ListDefinition<Item, Query> & {
    list: (call: ListCall<Name, Query>, page: Page) => Promise<({ id: number } & Static<Item>)[]>;
  },
): ListEndpoint<Name> {
  const numbered = (call: never, { after, limit }: Page<string>) => {
    if (!/^\d{0,15}$/.test(after)) throw badCursor();
    return endpoint.list(call, { after: Number(after), limit });
  };
  return { ...endpoint, params, status: 200, list: numbered } as unknown as ListEndpoint<Name>;
}

/** In the order of identifiers that are times, the newest first unless it says otherwise. */
export function history<const Name extends PathParameterName, Item extends TSchema, Query extends TSchema = TSchema>(
  params: readonly Name[],
  endpoint: ListDefinition<Item, Query> & {
    list: (call: ListCall<Name, Query>, page: Page<string>) => Promise<({ id: string } & Static<Item>)[]>;
  },
): ListEndpoint<Name> {
  const identified = (call: never, page: Page<string>) => {
    if (page.after !== '' && !isUuid(page.after)) throw badCursor();
    return endpoint.list(call, page);
  };
  return { ...endpoint, params, status: 200, list: identified } as unknown as ListEndpoint<Name>;
}

/** In an order of its own: each row says what the next page comes after, and the handler reads it again. */
export function ordered<const Name extends PathParameterName, Item extends TSchema, Query extends TSchema = TSchema>(
  params: readonly Name[],
  endpoint: ListDefinition<Item, Query> & {
    list: (
      call: ListCall<Name, Query>,
      page: Page<string>,
    ) => Promise<({ cursor: string } & Static<Item>)[] | ListLook<{ cursor: string } & Static<Item>>>;
    written?: (call: ListCall<Name, Query>, page: Page<string>) => Promise<WrittenPage> | undefined;
  },
): ListEndpoint<Name> {
  return { ...endpoint, params, status: 200 } as unknown as ListEndpoint<Name>;
}

export function badCursor() {
  return invalid({ cursor: ['is not one that a Link header gave: start again without it'] });
}

/** The same for what the organization has itself and for what a project has: only the names differ. */
export function both<Endpoint>(
  make: (owner: 'Organization' | 'Project', lower: string) => Endpoint,
): [Endpoint, Endpoint] {
  return [make('Organization', 'organization'), make('Project', 'project')];
}
