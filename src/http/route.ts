/** How a route is written down. `routes.ts` is the table of them; `server.ts` makes them work. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { invalid } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import type { OrganizationLimits } from '../core/limits.ts';
import type { Permission } from '../core/permissions.ts';
import type { Deps } from '../services/deps.ts';
import type { NamedMember } from '../services/distribution-lists.ts';
import type { Session } from '../services/sessions.ts';
import type { WholeAddress, WrittenPage } from '../services/users.ts';

interface Named {
  id: number;
  slug: string;
  name: string;
}

/** Everything that a path can name, found before the handler runs. */
export interface Found {
  organization: Named & { limits: OrganizationLimits; two_factor_required: boolean };
  project: Named;
  application: Named;
  event: Named & { active: boolean; category: string; priority: number };
  address: WholeAddress;
  user: { id: number; email: string; username: string; first_name: string; last_name: string; locked: boolean };
  list: { id: number; name: string };
  member: NamedMember;
  key: { id: string; name: string };
  occurrence: { identifier: string };
  channel: { id: number; slug: string };
  delivery: { id: number };
  message: { id: number };
  account: { id: number };
  invite: { id: number };
  notification: { id: number; name: string };
  version: { number: number };
  layout: { id: number; name: string; body: string; version: number; updated_at: string };
  category: { slug: string };
}

/** The parts of `Found` that a path with these parameters has. */
type FoundAt<Path extends string> = (Path extends `${string}:org/${string}` ? Pick<Found, 'organization'> : unknown) &
  (Path extends `${string}:prj/${string}` ? Pick<Found, 'project'> : unknown) &
  (Path extends `${string}:app/${string}` ? Pick<Found, 'application'> : unknown) &
  (Path extends `${string}:evt/${string}` ? Pick<Found, 'event'> : unknown) &
  (Path extends `${string}:username/${string}` ? Pick<Found, 'user'> : unknown) &
  (Path extends `${string}:address/${string}` ? Pick<Found, 'address'> : unknown) &
  (Path extends `${string}:pk/${string}` ? Pick<Found, 'list'> : unknown) &
  (Path extends `${string}:member/${string}` ? Pick<Found, 'member'> : unknown) &
  (Path extends `${string}:key/${string}` ? Pick<Found, 'key'> : unknown) &
  (Path extends `${string}:identifier/${string}` ? Pick<Found, 'occurrence'> : unknown) &
  (Path extends `${string}:channel/${string}` ? Pick<Found, 'channel'> : unknown) &
  (Path extends `${string}:delivery/${string}` ? Pick<Found, 'delivery'> : unknown) &
  (Path extends `${string}:message/${string}` ? Pick<Found, 'message'> : unknown) &
  (Path extends `${string}:account/${string}` ? Pick<Found, 'account'> : unknown) &
  (Path extends `${string}:invite/${string}` ? Pick<Found, 'invite'> : unknown) &
  (Path extends `${string}:notification/${string}` ? Pick<Found, 'notification'> : unknown) &
  (Path extends `${string}:layout/${string}` ? Pick<Found, 'layout'> : unknown) &
  (Path extends `${string}:category/${string}` ? Pick<Found, 'category'> : unknown) &
  (Path extends `${string}:version/${string}` ? Pick<Found, 'version'> : unknown);

/** What a path names, below the organization: shop/web/order-paid. */
export function pathOf({ project, application, event, channel }: Partial<Found>): string {
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
  /** How far down it is narrowed; the organization is null for a person where the path names none. */
  reach: { organization_id: number | null; project_id: number | null; application_id: number | null };
}

/** The slugs that a path is made of. */
export function slugsOf({ organization, project, application, event }: Partial<Found>) {
  return { org: organization!.slug, prj: project?.slug, app: application?.slug, evt: event?.slug };
}

/** Where the thing is that a path with these names leads to. */
export function placeOf(found: Partial<Found>): string {
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

interface RouteBase {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** `public`: anybody. `account`: whoever is signed in, but no key. */
  permission: Permission | 'public' | 'account';
  /** operationId in the OpenAPI document, and the name that tests and metrics use. */
  id: string;
  summary: string;
  description?: string;
  tag: string;
  status: 200 | 201 | 302;
  body?: TSchema;
  /** The media type of the body, where it is not JSON: it comes as text. */
  consumes?: 'text/csv';
  /** The media type of the answer, where it is not JSON. */
  produces?: 'text/csv' | 'application/x-ndjson';
  bodyLimit?: number;
  /** Statuses of failure beyond those that follow from its method, path and body. */
  problems?: readonly (400 | 404 | 409)[];
  query?: TSchema;
  headers?: TSchema;
}

/** Answers one value. */
export interface PlainRoute extends RouteBase {
  answer: TSchema;
  handle: (call: Call & Found & { body: never; query: never }) => unknown;
}

/** Answers an array, whole and streamed or page by page. */
export interface ListRoute extends RouteBase {
  item: TSchema;
  /** What people are in it, where reading all of them at once belongs into the audit log. */
  personal?: 'account' | 'user' | 'list';
  list: (call: Call & Found & { query: never }, page: Page<string>) => Promise<ListRow[]>;
  /** The same written by the database, for a list that may be very long; undefined where this one cannot be. */
  written?: (call: Call & Found & { query: never }, page: Page<string>) => Promise<WrittenPage> | undefined;
}

/** What the next page comes after: the cursor, else the id. */
export type ListRow = { id: number | string } | { cursor: string };

export type Route = PlainRoute | ListRoute;

/** Lets the compiler work out what the handler gets from the path and the schemas. */
export function plain<
  const Path extends string,
  Body extends TSchema = TSchema,
  Query extends TSchema = TSchema,
  Answer extends TSchema = TSchema,
>(
  route: Omit<PlainRoute, 'handle' | 'path' | 'body' | 'query' | 'answer'> & {
    path: Path;
    body?: Body;
    query?: Query;
    answer: Answer;
    handle: (
      call: Call & FoundAt<Path> & { body: Static<Body>; query: Static<Query> },
    ) => Static<Answer> | Promise<Static<Answer>>;
  },
): PlainRoute {
  return route as unknown as PlainRoute;
}

type ListDefinition<Path, Item extends TSchema, Query extends TSchema> = Omit<
  ListRoute,
  'list' | 'path' | 'item' | 'query' | 'method' | 'status'
> & { path: Path; item: Item; query?: Query };

/** In the order of numeric ids. */
export function list<const Path extends string, Item extends TSchema, Query extends TSchema = TSchema>(
  route: ListDefinition<Path, Item, Query> & {
    list: (
      call: Call & FoundAt<Path> & { query: Static<Query> },
      page: Page,
    ) => Promise<({ id: number } & Static<Item>)[]>;
  },
): ListRoute {
  const numbered = (call: never, { after, limit }: Page<string>) => {
    if (!/^\d{0,15}$/.test(after)) throw badCursor();
    return route.list(call, { after: Number(after), limit });
  };
  return { ...route, method: 'GET', status: 200, list: numbered } as unknown as ListRoute;
}

/** The newest first, in the order of identifiers that are times. */
export function history<const Path extends string, Item extends TSchema, Query extends TSchema = TSchema>(
  route: ListDefinition<Path, Item, Query> & {
    list: (
      call: Call & FoundAt<Path> & { query: Static<Query> },
      page: Page<string>,
    ) => Promise<({ id: string } & Static<Item>)[]>;
  },
): ListRoute {
  const identified = (call: never, page: Page<string>) => {
    if (page.after !== '' && !isUuid(page.after)) throw badCursor();
    return route.list(call, page);
  };
  return { ...route, method: 'GET', status: 200, list: identified } as unknown as ListRoute;
}

/** In an order of its own: each row says what the next page comes after, and the handler reads it again. */
export function ordered<const Path extends string, Item extends TSchema, Query extends TSchema = TSchema>(
  route: ListDefinition<Path, Item, Query> & {
    list: (
      call: Call & FoundAt<Path> & { query: Static<Query> },
      page: Page<string>,
    ) => Promise<({ cursor: string } & Static<Item>)[]>;
    written?: (
      call: Call & FoundAt<Path> & { query: Static<Query> },
      page: Page<string>,
    ) => Promise<WrittenPage> | undefined;
  },
): ListRoute {
  return { ...route, method: 'GET', status: 200 } as unknown as ListRoute;
}

export function badCursor() {
  return invalid({ cursor: ['is not one that a Link header gave: start again without it'] });
}
