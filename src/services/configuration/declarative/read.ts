/** Reads the stored configuration in the form in which documents are compared, with one statement per table. */

import { type NounName, nouns, sectionsOf } from '../../../core/configuration/document.ts';
import { pickFields } from '../../../core/configuration/nouns/noun.ts';
import {
  isListed,
  type OrganizationState,
  type StateByNoun,
  type UserState,
} from '../../../core/configuration/state.ts';
import type { JsonObject } from '../../../core/json.ts';
import { listAllAddresses } from '../../../db/audience/addresses.ts';
import { listAllDistributionLists } from '../../../db/audience/distribution-lists.ts';
import { listAllEmailMembers } from '../../../db/audience/members.ts';
import { listAllUsers } from '../../../db/audience/users.ts';
import { listCurrentMessages } from '../../../db/configuration/messages.ts';
import type { Organization, PathIds } from '../../../db/configuration/organizations.ts';
import { listRows, parentColumnOf, type RowNoun, type RowOf } from '../../../db/configuration/rows.ts';
import type { Db } from '../../../db/connection/pool.ts';
import type { SealedChannel } from '../../../pipeline/channel-secrets.ts';
import type { SealedSource, SealedWatch, SourceSecrets } from '../source-secrets.ts';
import type { SealedWebhook } from '../webhook-secrets.ts';

/** Selects the parts to read; those that can be large are optional. */
interface ReadOptions {
  users: boolean;
  members: boolean;
  /** Reads only the objects on this path and those that they can reference; undefined: everything. */
  within?: PathIds;
}

/** Functions that decrypt secrets. */
export interface SecretOpeners {
  channel: (channel: SealedChannel) => JsonObject[];
  webhook: (webhook: SealedWebhook) => string | undefined;
  source: (source: SealedSource & Pick<RowOf<'source'>, 'update'>) => SourceSecrets;
  heartbeat: (heartbeat: SealedSource) => SourceSecrets;
  watch: (watch: SealedWatch) => string | undefined;
}

/** Leaves secrets empty. */
const withoutOpening: SecretOpeners = {
  channel: () => [],
  webhook: () => undefined,
  source: () => ({}),
  heartbeat: () => ({}),
  watch: () => undefined,
};

export async function readOrganization(
  db: Db,
  { id, ...own }: Organization,
  options: ReadOptions,
  openSecrets: SecretOpeners = withoutOpening,
): Promise<OrganizationState> {
  const states = new Map<string, ByParent<{ id: number }>>();
  for (const noun of Object.keys(nouns) as NounName[]) {
    if (noun !== 'organization') states.set(noun, await readStates(db, id, noun, options.within, openSecrets));
  }
  states.set('list', await readLists(db, id, options));
  /** Adds the sections of an object. The key null is the organization. */
  const withSections = <State extends object>(noun: string, state: State, key: number | null): State => {
    const sections = sectionsOf(noun).map(([section, child]) => {
      const below = states.get(child)?.get(key) ?? [];
      return [section, below.map(one => withSections(child, one, one.id))];
    });
    return { ...state, ...Object.fromEntries(sections) };
  };
  const users = options.users ? await readUsers(db, id) : undefined;
  return { ...withSections('organization', { id, ...own }, null), users };
}

/** Objects by the id of the one above them; null: the organization. */
type ByParent<State> = Map<number | null, State[]>;

/** Reads the objects of a noun without their sections. */
export async function readStates<N extends RowNoun>(
  db: Db,
  organizationId: number,
  noun: N,
  within?: PathIds,
  openSecrets: SecretOpeners = withoutOpening,
): Promise<ByParent<StateByNoun[N] & { id: number }>> {
  const readMore = await createReader(db, organizationId, noun, within, openSecrets);
  const rows = await listRows(db, organizationId, noun, { within });
  const column = parentColumnOf(noun);
  const byParent = Map.groupBy(rows as Record<string, unknown>[], row => (column ? row[column] : null));
  const toState = (row: object) => ({
    id: (row as { id: number }).id,
    ...pickFields(nouns[noun], row as never),
    ...readMore(row as never),
  });
  return new Map([...byParent].map(([parent, own]) => [parent, own.map(toState)])) as never;
}

/** Returns a function that reads what the noun has besides its fields. */
async function createReader(
  db: Db,
  organizationId: number,
  noun: RowNoun,
  within: PathIds | undefined,
  openSecrets: SecretOpeners,
): Promise<(row: never) => object> {
  if (noun === 'webhook') {
    return ({ slug, secrets }: RowOf<'webhook'>) => ({ secret: openSecrets.webhook({ slug, secrets }) });
  }
  if (noun === 'source') return (row: RowOf<'source'>) => openSecrets.source(row);
  if (noun === 'heartbeat') return (row: RowOf<'heartbeat'>) => openSecrets.heartbeat(row);
  if (noun === 'watch') return (row: RowOf<'watch'>) => ({ url: openSecrets.watch(row) });
  if (noun === 'channel') {
    return (row: RowOf<'channel'>) => {
      const opened = row.secrets ? openSecrets.channel(row) : [];
      const providers = row.providers.map(({ use, ...settings }, i) => ({
        use: String(use),
        settings,
        secrets: opened[i] ?? {},
      }));
      return { providers };
    };
  }
  if (noun === 'notification') {
    const messages = await listCurrentMessages(db, organizationId, within);
    const contents = new Map(messages.map(message => [message.notification_id, message.content]));
    return ({ id }: { id: number }) => ({ content: contents.get(id) ?? { message: { body: '' }, overrides: {} } });
  }
  return () => ({});
}

async function readUsers(db: Db, organizationId: number): Promise<UserState[]> {
  const users = await listAllUsers(db, organizationId);
  const addresses = Map.groupBy(await listAllAddresses(db, organizationId), address => address.user_id);
  return users.map(user => ({
    ...user,
    locale: user.locale ?? '',
    timezone: user.timezone ?? '',
    reach: user.reach ?? {},
    addresses: (addresses.get(user.id) ?? [])
      .map(({ name, value, verified_at }) => ({ name, value, ...(verified_at && { verified: true }) }))
      .filter(address => isListed(user, address)),
  }));
}

async function readLists(db: Db, organizationId: number, options: ReadOptions) {
  const rows = await listAllDistributionLists(db, organizationId, options.within);
  const members = Map.groupBy(
    options.members ? await listAllEmailMembers(db, organizationId) : [],
    member => member.list_id,
  );
  const usernames = (id: number) => (members.get(id) ?? []).map(member => member.username);
  const lists = rows.map(({ id, project_id, name }) => ({
    project_id,
    state: { id, name, members: options.members ? usernames(id) : undefined },
  }));
  const byProject = Map.groupBy(lists, list => list.project_id);
  return new Map([...byProject].map(([project, own]) => [project, own.map(({ state }) => state)]));
}
