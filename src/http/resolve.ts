/**
 * What the parameters of a path name. Each has one entry: the schema that OpenAPI shows, and how the thing is found. They
 * are resolved in the order in which the path has them, so that what stands above is there already. What lies outside the
 * scope of the caller does not exist for it.
 */
import { type TSchema, Type } from 'typebox';
import { AppError, type ErrorCode } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { findMember } from '../services/accounts.ts';
import { findCategory } from '../services/categories.ts';
import { findChannel } from '../services/channels.ts';
import type { Deps } from '../services/deps.ts';
import { findDistributionList, findMember as findListMember } from '../services/distribution-lists.ts';
import { hasMessage } from '../services/inbox.ts';
import { findInvite } from '../services/invites.ts';
import { findKey } from '../services/key-changes.ts';
import { findLayout, findVersionOfLayout } from '../services/layouts.ts';
import { findNotification, findVersionOfMessage } from '../services/notifications.ts';
import { hasDelivery, hasOccurrence } from '../services/occurrences.ts';
import type { Place } from '../services/organizations.ts';
import { findAddress, findUser } from '../services/users.ts';
import { findWebhook, findWebhookMessage } from '../services/webhooks.ts';

/** How far down the caller is narrowed. */
export interface Scope {
  organization_id: number;
  project_id: number | null;
  application_id: number | null;
}

type Id = { id: number };

/** What an entry may ask: who calls, what the slugs name, and the things above it that it says it needs. */
type At<Above extends string = never> = {
  deps: Deps;
  scope: Scope;
  params: Partial<Record<string, string>>;
  /** As far down as the slugs of the path lead. */
  place: Place | undefined;
  organization: Id;
  project?: Id;
} & Record<Above, Id>;

interface PathParameter {
  schema: TSchema;
  /** The error when there is no such thing, and what that calls it. Absent: the handler tells. */
  missing?: [code: ErrorCode, noun: string];
  /** Undefined when there is no such thing. Answers at once where it can: a trigger awaits nothing. */
  resolve(at: never, text: string): object | undefined | Promise<object | undefined>;
}

export const pathParameters = {
  org: {
    schema: Type.String({ description: 'Slug of the organization.' }),
    missing: ['organization.not_found', 'organization'],
    resolve: ({ place, scope, params }: At) =>
      place?.organization.id === scope.organization_id && (scope.project_id === null || params.prj !== undefined)
        ? { organization: place.organization }
        : undefined,
  },
  prj: {
    schema: Type.String({ description: 'Slug of the project.' }),
    missing: ['project.not_found', 'project'],
    resolve: ({ place, scope, params }: At) =>
      isWithin(scope.project_id, place?.project) && (scope.application_id === null || params.app !== undefined)
        ? { project: place!.project! }
        : undefined,
  },
  app: {
    schema: Type.String({ description: 'Slug of the application.' }),
    missing: ['application.not_found', 'application'],
    resolve: ({ place, scope }: At) =>
      isWithin(scope.application_id, place?.application) ? { application: place!.application! } : undefined,
  },
  evt: {
    schema: Type.String({ description: 'Slug of the event.' }),
    missing: ['event.not_found', 'event'],
    resolve: ({ place }: At) => place?.event && { event: place.event },
  },
  category: {
    schema: Type.String({ description: 'Slug of the category.' }),
    missing: ['category.not_found', 'category'],
    resolve: async ({ deps, organization }: At, slug: string) =>
      (await findCategory(deps, organization.id, slug)) && { category: { slug } },
  },
  channel: {
    schema: Type.String({ description: 'Slug of the channel.' }),
    missing: ['channel.not_found', 'channel'],
    resolve: async ({ deps, organization, project }: At, slug: string) => {
      const id = await findChannel(deps, organization.id, project?.id ?? null, slug);
      return id === undefined ? undefined : { channel: { id, slug } };
    },
  },
  username: {
    schema: Type.String({ description: 'Username of the user: the email in lower case.' }),
    missing: ['user.not_found', 'user'],
    resolve: async ({ deps, organization }: At, username: string) => {
      const user = await findUser(deps, organization.id, username);
      return user && { user };
    },
  },
  address: {
    schema: Type.Integer({ description: 'Id of the address.' }),
    missing: ['address.not_found', 'address'],
    resolve: byId(async ({ deps, organization, user }: At<'user'>, id) => {
      const address = await findAddress(deps, organization.id, user.id, id);
      return address && { address };
    }),
  },
  pk: {
    schema: Type.Integer({ description: 'Id of the distribution list.' }),
    missing: ['list.not_found', 'distribution list'],
    resolve: byId(async ({ deps, organization, project }: At<'project'>, id) => {
      const list = await findDistributionList(deps, organization.id, project.id, id);
      return list && { list };
    }),
  },
  member: {
    schema: Type.Integer({ description: 'Id of the member.' }),
    missing: ['member.not_found', 'member'],
    resolve: byId(async ({ deps, organization, list }: At<'list'>, id) => {
      const member = await findListMember(deps, organization.id, list.id, id);
      return member && { member };
    }),
  },
  identifier: {
    schema: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    missing: ['occurrence.not_found', 'occurrence'],
    resolve: async ({ deps, organization }: At, identifier: string) =>
      isUuid(identifier) && (await hasOccurrence(deps, organization.id, identifier))
        ? { occurrence: { identifier } }
        : undefined,
  },
  delivery: {
    schema: Type.Integer({ description: 'Id of the delivery.' }),
    missing: ['delivery.not_found', 'delivery'],
    resolve: byId(async ({ deps, organization, params }: At, id) =>
      (await hasDelivery(deps, organization.id, params.identifier!, id)) ? { delivery: { id } } : undefined,
    ),
  },
  key: {
    schema: Type.String({ description: 'Id of the key.' }),
    missing: ['key.not_found', 'key'],
    resolve: async ({ deps, organization }: At, id: string) => {
      const key = await findKey(deps, organization.id, id);
      return key && { key };
    },
  },
  message: {
    schema: Type.Integer({ description: 'Id of the message.' }),
    missing: ['message.not_found', 'message'],
    resolve: byId(async ({ deps, organization, user }: At<'user'>, id) =>
      (await hasMessage(deps, organization.id, user.id, id)) ? { message: { id } } : undefined,
    ),
  },
  account: {
    schema: Type.Integer({ description: 'Id of the account.' }),
    missing: ['account.not_found', 'account'],
    resolve: byId(async ({ deps, organization }: At, id) =>
      (await findMember(deps, organization.id, id)) ? { account: { id } } : undefined,
    ),
  },
  invite: {
    schema: Type.Integer({ description: 'Id of the invite.' }),
    missing: ['invite.not_found', 'invite'],
    resolve: byId(async ({ deps, organization }: At, id) =>
      (await findInvite(deps, organization.id, id)) ? { invite: { id } } : undefined,
    ),
  },
  notification: {
    schema: Type.Integer({ description: 'Id of the notification.' }),
    missing: ['notification.not_found', 'notification'],
    resolve: byId(async ({ deps, organization, event }: At<'event'>, id) => {
      const notification = await findNotification(deps, organization.id, event.id, id);
      return notification && { notification };
    }),
  },
  layout: {
    schema: Type.Integer({ description: 'Id of the layout.' }),
    missing: ['layout.not_found', 'layout'],
    resolve: byId(async ({ deps, organization, project }: At, id) => {
      const layout = await findLayout(deps, organization.id, project?.id ?? null, id);
      return layout && { layout };
    }),
  },
  version: {
    schema: Type.Integer({ description: 'Number of the version.' }),
    missing: ['version.not_found', 'version'],
    resolve: byId(
      async ({ deps, organization, layout, notification }: At<'notification'> & { layout?: Id }, number) => {
        if (number > largestVersion) return undefined;
        const version = layout
          ? await findVersionOfLayout(deps, organization.id, layout.id, number)
          : await findVersionOfMessage(deps, organization.id, notification.id, number);
        return version && { version: { number } };
      },
    ),
  },
  webhook: {
    schema: Type.String({ description: 'Slug of the webhook.' }),
    missing: ['webhook.not_found', 'webhook'],
    resolve: async ({ deps, organization }: At, slug: string) => {
      const webhook = await findWebhook(deps, organization.id, slug);
      return webhook && { webhook };
    },
  },
  hook_message: {
    schema: Type.Integer({ description: 'Id of the message.' }),
    missing: ['message.not_found', 'message'],
    resolve: byId(async ({ deps, organization, webhook }: At<'webhook'>, id) => {
      const hookMessage = await findWebhookMessage(deps, organization.id, webhook.id, id);
      return hookMessage && { hookMessage };
    }),
  },
  token: {
    schema: Type.String({ description: 'What the link ends in.' }),
    resolve: (_: At, token: string) => ({ token }),
  },
  session: {
    schema: Type.Integer({ description: 'Id of the session.' }),
    resolve: (_: At, text: string) => ({ sessionId: ownId(text) }),
  },
  passkey: {
    schema: Type.Integer({ description: 'Id of the passkey.' }),
    resolve: (_: At, text: string) => ({ passkeyId: ownId(text) }),
  },
} satisfies Record<string, PathParameter>;

export type PathParameterName = keyof typeof pathParameters;

/** As the router has read them. */
export type Params = Partial<Record<PathParameterName, string>>;

type ResolvedBy<Name extends PathParameterName> = NonNullable<
  Awaited<ReturnType<(typeof pathParameters)[Name]['resolve']>>
>;

type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** What a handler gets of a path that has these parameters. */
export type Resources<Name extends PathParameterName = PathParameterName> = [Name] extends [never]
  ? unknown
  : Intersection<{ [One in Name]: ResolvedBy<One> }[Name]>;

/** Any of them, where it depends on the path which ones are there. */
export type SomeResources = Partial<Resources>;

/** The names of a path's parameters, in its order. */
export function parametersOf(path: string): PathParameterName[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as PathParameterName);
}

/** Of a path without an organization: there is nothing that a scope could hide. */
export function resolveOutside(deps: Deps, params: Params): Resources {
  const at = { deps, params };
  return Object.assign({}, ...entriesOf(params).map(([name, text]) => entryOf(name).resolve(at as never, text)));
}

/** Throws not-found for the first thing that is not there, or is not for this caller. */
export async function resolve(deps: Deps, scope: Scope, params: Params): Promise<Resources> {
  const named = entriesOf(params);
  for (const [, text] of named) if (!isStorable(text)) throw notFound('path.not_found', 'path', text);
  const { org, prj, app, evt } = params;
  const known = deps.tenantCache.findPlace({ org: org!, prj, app, evt });
  const place = known instanceof Promise ? await known : known;
  const resources = {};
  const at = { deps, scope, params, place };
  for (const [name, text] of named) {
    const { missing, resolve: resolveOne } = entryOf(name);
    const answer = resolveOne({ ...at, ...resources } as never, text);
    const found = answer instanceof Promise ? await answer : answer;
    if (!found) throw notFound(...missing!, text);
    Object.assign(resources, found);
  }
  return resources as Resources;
}

export function notFound(code: ErrorCode, noun: string, name: string): AppError {
  return new AppError(code, `there is no ${noun} ${JSON.stringify(name)} here, or it is out of your reach`);
}

export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

function entriesOf(params: Params): [PathParameterName, string][] {
  return Object.entries(params) as [PathParameterName, string][];
}

function entryOf(name: PathParameterName): PathParameter {
  return pathParameters[name];
}

/** What the column holds. */
const largestVersion = 2 ** 31 - 1;

/** For what has a number: what is no number of ours names nothing. */
function byId<Where, Thing>(find: (at: Where, id: number) => Promise<Thing | undefined>) {
  return (at: Where, text: string): Promise<Thing | undefined> | undefined => {
    const id = parseId(text);
    return id === undefined ? undefined : find(at, id);
  };
}

function parseId(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Of something that belongs to the person who asks; 0 is nobody's. */
function ownId(text: string): number {
  return parseId(text) ?? 0;
}

/** Whether it is there, and is the one that the caller is narrowed to, if it is narrowed. */
function isWithin(narrowedTo: number | null, thing: Id | undefined): boolean {
  return thing !== undefined && (narrowedTo === null || narrowedTo === thing.id);
}
