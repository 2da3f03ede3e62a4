/**
 * Resolves the parameters of a path to resources. Each parameter has one entry with its OpenAPI schema and its lookup.
 * Parameters are resolved from left to right, so a lookup can use the resources before it. A resource outside the caller's
 * scope is reported as not found.
 */
import { type TSchema, Type } from 'typebox';
import { type NounName, nouns, type PathNoun, parentOf, pathNouns } from '../core/configuration/document.ts';
import { AppError, type ErrorCode } from '../core/errors.ts';
import type { Scope } from '../core/identity/permissions.ts';
import { isUuid } from '../core/ids.ts';
import { findAddress } from '../db/audience/addresses.ts';
import { findDistributionList } from '../db/audience/distribution-lists.ts';
import { findInboxMessage } from '../db/audience/inbox.ts';
import { findMember as findListMember } from '../db/audience/members.ts';
import { findAbsenceCalendar } from '../db/audience/on-call/absence-calendars.ts';
import { findAbsence } from '../db/audience/on-call/absences.ts';
import { findOverride } from '../db/audience/on-call/overrides.ts';
import { findSwap } from '../db/audience/on-call/swaps.ts';
import { findSuppression } from '../db/audience/suppressions.ts';
import { findRow, type RowNoun, type RowOf } from '../db/configuration/rows.ts';
import { findAttachment } from '../db/history/attachments.ts';
import { findDelivery } from '../db/history/delivery-list.ts';
import { findOccurrence } from '../db/history/occurrences.ts';
import { findSilence } from '../db/history/silences/silences.ts';
import { findPayload } from '../db/history/sources/payloads.ts';
import { findWebhookMessage } from '../db/history/webhook-messages.ts';
import { findInvite } from '../db/identity/invites.ts';
import { findKey } from '../db/identity/keys.ts';
import { findMember } from '../db/identity/memberships.ts';
import { findUser } from '../services/audience/users.ts';
import type { ResolvedPath } from '../services/configuration/organizations.ts';
import { findVersion } from '../services/configuration/versions.ts';
import type { Deps } from '../services/deps.ts';

type Id = { id: number };

/** What a lookup can use; `Above` names the resources to its left that it requires. */
type ResolveContext<Above extends string = never> = {
  deps: Deps;
  scope: Scope;
  params: Partial<Record<string, string>>;
  /** The organization, project, application and event that the slugs name. */
  path: ResolvedPath | undefined;
  organization: Id;
  project?: Id;
} & Record<Above, Id>;

interface PathParameter {
  schema: TSchema;
  /** Error code and noun for a resource that does not exist, if they do not follow from the name. */
  missing?: [code: ErrorCode, noun: string];
  /** Returns undefined if it does not exist. Synchronous if cached, so that a trigger awaits nothing here. */
  resolve(at: never, text: string): object | undefined | Promise<object | undefined>;
}

type EntryNoun = Exclude<RowNoun, PathNoun>;

/** The parameters of configuration nouns: the slug, or the id if there is none. */
const nounParameters = Object.fromEntries(
  (Object.keys(nouns) as NounName[])
    .filter(noun => noun !== 'organization' && !pathNouns.some(part => part === noun))
    .map(noun => [noun, parameterOf(noun as EntryNoun)]),
) as unknown as { [N in EntryNoun]: NounParameter<N> };

interface NounParameter<N extends EntryNoun> extends PathParameter {
  resolve(at: ResolveContext, text: string): Promise<{ [noun in N]: RowOf<N> } | undefined>;
}

function parameterOf(noun: EntryNoun): PathParameter {
  const missing: PathParameter['missing'] = [`${noun}.not_found`, noun];
  const { parent: above } = parentOf(noun);
  type Above = ResolveContext & { [part in PathNoun]?: Id };
  const find = async ({ deps, organization, ...at }: Above, by: { slug: string } | { id: number }) => {
    const parent = above && (at[above]?.id ?? null);
    const row = await findRow(deps.db, organization.id, noun, { parent, ...by });
    return row && { [noun]: row };
  };
  return nouns[noun].key === 'slug'
    ? {
        schema: Type.String({ description: `Slug of the ${noun}.` }),
        missing,
        resolve: (at, slug) => find(at, { slug }),
      }
    : {
        schema: Type.Integer({ description: `Id of the ${noun}.` }),
        missing,
        resolve: byId((at, id) => find(at, { id })),
      };
}

export const pathParameters = {
  ...nounParameters,
  org: {
    schema: Type.String({ description: 'Slug of the organization.' }),
    missing: ['organization.not_found', 'organization'],
    resolve: ({ path, scope, params }: ResolveContext) =>
      path?.organization.id === scope.organization_id && (scope.project_id === null || params.prj !== undefined)
        ? { organization: path.organization }
        : undefined,
  },
  prj: {
    schema: Type.String({ description: 'Slug of the project.' }),
    missing: ['project.not_found', 'project'],
    resolve: ({ path, scope, params }: ResolveContext) =>
      isWithin(scope.project_id, path?.project) && (scope.application_id === null || params.app !== undefined)
        ? { project: path!.project! }
        : undefined,
  },
  app: {
    schema: Type.String({ description: 'Slug of the application.' }),
    missing: ['application.not_found', 'application'],
    resolve: ({ path, scope }: ResolveContext) =>
      isWithin(scope.application_id, path?.application) ? { application: path!.application! } : undefined,
  },
  evt: {
    schema: Type.String({ description: 'Slug of the event.' }),
    missing: ['event.not_found', 'event'],
    resolve: ({ path }: ResolveContext) => path?.event && { event: path.event },
  },
  username: {
    schema: Type.String({ description: 'Username of the user: the email in lower case.' }),
    missing: ['user.not_found', 'user'],
    resolve: async ({ deps, organization }: ResolveContext, username: string) => {
      const user = await findUser(deps, organization.id, username);
      return user && { user };
    },
  },
  address: {
    schema: Type.Integer({ description: 'Id of the address.' }),
    resolve: byId(({ deps, organization, user }: ResolveContext<'user'>, id) =>
      named('address', findAddress(deps.db, organization.id, user.id, id)),
    ),
  },
  pk: {
    schema: Type.Integer({ description: 'Id of the distribution list.' }),
    missing: ['list.not_found', 'distribution list'],
    resolve: byId(({ deps, organization, project }: ResolveContext<'project'>, id) =>
      named('list', findDistributionList(deps.db, organization.id, project.id, id)),
    ),
  },
  member: {
    schema: Type.Integer({ description: 'Id of the member.' }),
    resolve: byId(({ deps, organization, list }: ResolveContext<'list'>, id) =>
      named('member', findListMember(deps.db, organization.id, list.id, id)),
    ),
  },
  suppression: {
    schema: Type.Integer({ description: 'Id of the entry in the suppression list.' }),
    resolve: byId(({ deps, organization }: ResolveContext, id) =>
      named('suppression', findSuppression(deps.db, organization.id, id)),
    ),
  },
  identifier: {
    schema: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
    missing: ['occurrence.not_found', 'occurrence'],
    resolve: async ({ deps, organization }: ResolveContext, identifier: string) =>
      isUuid(identifier) && (await findOccurrence(deps.db, organization.id, identifier))
        ? { occurrence: { identifier } }
        : undefined,
  },
  silence: {
    schema: Type.String({ format: 'uuid', description: 'Id of the silence.' }),
    resolve: async ({ deps, organization }: ResolveContext, id: string) => {
      const silence = isUuid(id) && (await findSilence(deps.db, organization.id, id));
      return silence ? { silence: { id } } : undefined;
    },
  },
  absence: {
    schema: Type.Integer({ description: 'Id of the absence.' }),
    resolve: byId(({ deps, organization, user }: ResolveContext<'user'>, id) =>
      named('absence', findAbsence(deps.db, organization.id, user.id, id)),
    ),
  },
  absence_calendar: {
    schema: Type.Integer({ description: 'Id of the calendar.' }),
    resolve: byId(({ deps, organization, user }: ResolveContext<'user'>, id) =>
      named('absence_calendar', findAbsenceCalendar(deps.db, organization.id, user.id, id)),
    ),
  },
  swap: {
    schema: Type.Integer({ description: 'Id of the swap.' }),
    resolve: byId(({ deps, organization, schedule }: ResolveContext<'schedule'>, id) =>
      named('swap', findSwap(deps.db, organization.id, schedule.id, id)),
    ),
  },
  override: {
    schema: Type.Integer({ description: 'Id of the override.' }),
    resolve: byId(({ deps, organization, schedule }: ResolveContext<'schedule'>, id) =>
      named('override', findOverride(deps.db, organization.id, schedule.id, id)),
    ),
  },
  delivery: {
    schema: Type.Integer({ description: 'Id of the delivery.' }),
    resolve: byId(async ({ deps, organization, params }: ResolveContext, id) =>
      (await findDelivery(deps.db, organization.id, params.identifier!, id)) ? { delivery: { id } } : undefined,
    ),
  },
  attachment: {
    schema: Type.String({ format: 'uuid', description: 'Id of the attachment.' }),
    resolve: async ({ deps, organization, params }: ResolveContext, id: string) => {
      const attachment = isUuid(id) && (await findAttachment(deps.db, organization.id, params.identifier!, id));
      return attachment ? { attachment } : undefined;
    },
  },
  key: {
    schema: Type.String({ description: 'Id of the key.' }),
    resolve: ({ deps, organization }: ResolveContext, id: string) =>
      named('key', findKey(deps.db, organization.id, id)),
  },
  message: {
    schema: Type.Integer({ description: 'Id of the message.' }),
    resolve: byId(async ({ deps, organization, user }: ResolveContext<'user'>, id) =>
      (await findInboxMessage(deps.db, organization.id, user.id, id)) ? { message: { id } } : undefined,
    ),
  },
  account: {
    schema: Type.Integer({ description: 'Id of the account.' }),
    resolve: byId(async ({ deps, organization }: ResolveContext, id) =>
      (await findMember(deps.db, organization.id, id)) ? { account: { id } } : undefined,
    ),
  },
  invite: {
    schema: Type.Integer({ description: 'Id of the invite.' }),
    missing: ['invite.not_found', 'invite'],
    resolve: byId(async ({ deps, organization }: ResolveContext, id) =>
      (await findInvite(deps.db, organization.id, id)) ? { invite: { id } } : undefined,
    ),
  },
  version: {
    schema: Type.Integer({ description: 'Number of the version.' }),
    missing: ['version.not_found', 'version'],
    resolve: byId(
      async (
        { deps, organization, layout, notification }: ResolveContext<'notification'> & { layout?: Id },
        number,
      ) => {
        const [noun, { id }] = layout ? (['layout', layout] as const) : (['notification', notification] as const);
        const version = await findVersion(deps, organization.id, noun, id, number);
        return version && { version };
      },
    ),
  },
  hook_message: {
    schema: Type.Integer({ description: 'Id of the message.' }),
    missing: ['message.not_found', 'message'],
    resolve: byId(async ({ deps, organization, webhook }: ResolveContext<'webhook'>, id) => {
      const hookMessage = await findWebhookMessage(deps.db, organization.id, webhook.id, id);
      return hookMessage && { hookMessage };
    }),
  },
  payload: {
    schema: Type.String({ format: 'uuid', description: 'Id of the payload.' }),
    resolve: async ({ deps, organization, source }: ResolveContext<'source'>, id: string) => {
      const payload = isUuid(id) && (await findPayload(deps.db, organization.id, source.id, id));
      return payload ? { payload } : undefined;
    },
  },
  token: {
    schema: Type.String({ description: 'Token at the end of the link.' }),
    resolve: (_: ResolveContext, token: string) => ({ token }),
  },
  session: {
    schema: Type.Integer({ description: 'Id of the session.' }),
    resolve: (_: ResolveContext, text: string) => ({ sessionId: ownId(text) }),
  },
  passkey: {
    schema: Type.Integer({ description: 'Id of the passkey.' }),
    resolve: (_: ResolveContext, text: string) => ({ passkeyId: ownId(text) }),
  },
} satisfies Record<string, PathParameter>;

export type PathParameterName = keyof typeof pathParameters;

/** Parameters as parsed by the router. */
export type Params = Partial<Record<PathParameterName, string>>;

type ResolvedBy<Name extends PathParameterName> = NonNullable<
  Awaited<ReturnType<(typeof pathParameters)[Name]['resolve']>>
>;

type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The resources that a handler receives for these path parameters. */
export type Resources<Name extends PathParameterName = PathParameterName> = [Name] extends [never]
  ? unknown
  : Intersection<{ [One in Name]: ResolvedBy<One> }[Name]>;

/** For helpers that work with several paths. */
export type SomeResources = Partial<Resources>;

/** Returns the names of a path's parameters, from left to right. */
export function parametersOf(path: string): PathParameterName[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as PathParameterName);
}

/** Resolves a path without an organization, to which no scope applies. */
export function resolveWithoutOrganization(deps: Deps, params: Params): Resources {
  const context = { deps, params };
  return Object.assign({}, ...entriesOf(params).map(([name, text]) => entryOf(name).resolve(context as never, text)));
}

/** Throws a not-found error for the first resource that does not exist or is outside the caller's scope. */
export async function resolve(deps: Deps, scope: Scope, params: Params): Promise<Resources> {
  const entries = entriesOf(params);
  const { org, prj, app, evt } = params;
  const cached = deps.tenantCache.resolvePath({ org: org!, prj, app, evt });
  const path = cached instanceof Promise ? await cached : cached;
  const resources = {};
  const context = { deps, scope, params, path };
  for (const [name, text] of entries) {
    const { missing, resolve: resolveOne } = entryOf(name);
    const answer = resolveOne({ ...context, ...resources } as never, text);
    const found = answer instanceof Promise ? await answer : answer;
    if (!found) throw notFound(...(missing ?? ([`${name}.not_found` as ErrorCode, name] as const)), text);
    Object.assign(resources, found);
  }
  return resources as Resources;
}

export function notFound(code: ErrorCode, noun: string, name: string): AppError {
  return new AppError(code, `${noun} ${JSON.stringify(name)} not found, or you do not have access to it`);
}

/** PostgreSQL stores neither NUL characters nor lone surrogates. No path with such a parameter exists: see server.ts. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

function entriesOf(params: Params): [PathParameterName, string][] {
  return Object.entries(params) as [PathParameterName, string][];
}

function entryOf(name: PathParameterName): PathParameter {
  return pathParameters[name];
}

/** Names what a lookup found. */
async function named<Name extends string, Resource>(name: Name, finding: Promise<Resource | undefined>) {
  const found = await finding;
  return found && ({ [name]: found } as Record<Name, Resource>);
}

/** Wraps a lookup by numeric id; other text is not found. */
function byId<Context, Resource>(find: (context: Context, id: number) => Promise<Resource | undefined>) {
  return (context: Context, text: string): Promise<Resource | undefined> | undefined => {
    const id = parseId(text);
    return id === undefined ? undefined : find(context, id);
  };
}

function parseId(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Id of a session or passkey, which the handler looks up in the caller's account; 0 never exists. */
function ownId(text: string): number {
  return parseId(text) ?? 0;
}

/** Whether the resource exists and is the one that the caller is restricted to, if there is a restriction. */
function isWithin(restrictedTo: number | null, resource: Id | undefined): boolean {
  return resource !== undefined && (restrictedTo === null || restrictedTo === resource.id);
}
