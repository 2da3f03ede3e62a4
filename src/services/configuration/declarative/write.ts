/** Applies the steps of a plan in order. Consecutive users, addresses and members are written in batches. */
import { hasContentChanged, type Step, type StepOf } from '../../../core/configuration/diff.ts';
import { toProviderEntry } from '../../../core/configuration/fields.ts';
import { pickFields } from '../../../core/configuration/nouns/noun.ts';
import { organization } from '../../../core/configuration/nouns/organization.ts';
import { generateWebhookSecret } from '../../../core/configuration/webhooks.ts';
import type { Json } from '../../../core/json.ts';
import { fold } from '../../../core/text/text.ts';
import * as addresses from '../../../db/audience/addresses.ts';
import * as lists from '../../../db/audience/distribution-lists.ts';
import * as members from '../../../db/audience/members.ts';
import * as users from '../../../db/audience/users.ts';
import { createOrganizationAcrossTenants, updateOrganization } from '../../../db/configuration/organizations.ts';
import { deleteRow, insertRow, updateRow } from '../../../db/configuration/rows.ts';
import { addVersion } from '../../../db/configuration/versions.ts';
import { createWebhookState } from '../../../db/configuration/webhooks.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { rescheduleHeartbeat } from '../../../db/history/heartbeats/heartbeats.ts';
import { releaseDayLimited } from '../../../db/ledger/deliver/day-limits.ts';
import type { Cipher } from '../../../lib/secrets/cipher.ts';
import { sealSecrets } from '../../../pipeline/channel-secrets.ts';
import { lookFirst } from '../../audience/on-call/looks.ts';
import { sealSource, sealWatch } from '../source-secrets.ts';
import { sealWebhookSecrets } from '../webhook-secrets.ts';

interface ApplyContext {
  cipher: Cipher;
  /** Name of the actor. */
  by: string;
}

export async function applySteps(db: Db, steps: readonly Step[], context: ApplyContext): Promise<void> {
  for (const group of groupConsecutive(steps)) {
    const [first] = group;
    const deleting = first!.action === 'delete';
    switch (first!.noun) {
      case 'user':
        await writeUsers(db, group as StepOf<'user'>[], deleting);
        break;
      case 'address':
        await writeAddresses(db, group as StepOf<'address'>[], deleting);
        break;
      case 'member':
        await writeMembers(db, group as StepOf<'member'>[], deleting);
        break;
      default:
        for (const step of group) await writeOne(db, step, context);
    }
  }
}

/** Groups consecutive steps that one statement can write. Creating and updating users is the same statement. */
function groupConsecutive(steps: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  for (const step of steps) {
    const last = groups.at(-1)?.[0];
    const together =
      last?.noun === step.noun &&
      last.organization === step.organization &&
      last.parent === step.parent &&
      (last.action === 'delete') === (step.action === 'delete');
    if (together) groups.at(-1)!.push(step);
    else groups.push([step]);
  }
  return groups;
}

async function writeUsers(db: Db, steps: StepOf<'user'>[], deleting: boolean): Promise<void> {
  const organizationId = steps[0]!.organization.id!;
  const usernames = steps.map(step => step.state.username);
  if (deleting) return users.deleteUsers(db, organizationId, usernames);
  const states = steps.map(step => step.state);
  await users.putUsers(db, organizationId, states);
  await addresses.addMissingEmails(db, organizationId, usernames);
}

async function writeAddresses(db: Db, steps: StepOf<'address'>[], deleting: boolean): Promise<void> {
  const organizationId = steps[0]!.organization.id!;
  const states = steps.map(step => step.state);
  if (deleting) return addresses.removeAddresses(db, organizationId, states);
  await addresses.addMissingAddresses(db, organizationId, states);
  await addresses.setAddressesVerified(db, organizationId, states);
}

async function writeMembers(db: Db, steps: StepOf<'member'>[], deleting: boolean): Promise<void> {
  const [organizationId, listId] = [steps[0]!.organization.id!, steps[0]!.parent.id!];
  const usernames = steps.map(step => step.state.username);
  if (deleting) await members.removeEmailMembers(db, organizationId, listId, usernames);
  else await members.addMissingMembers(db, organizationId, listId, usernames);
}

async function writeOne(db: Db, step: Step, { cipher, by }: ApplyContext): Promise<void> {
  if (step.noun === 'organization') return writeOrganization(db, step);
  const { action, noun, organization, parent, row, state } = step;
  const organizationId = organization.id!;
  if (noun === 'list') {
    if (action === 'delete') return lists.deleteDistributionList(db, organizationId, row.id!);
    const fields = { name: state.name, name_key: fold(state.name) };
    row.id = await lists.putDistributionList(db, organizationId, parent.id!, fields);
    return;
  }
  if (noun === 'user' || noun === 'address' || noun === 'member') return;
  if (action === 'delete') return deleteRow(db, organizationId, noun, row.id!);
  /** Null: it belongs to the organization. */
  const parentId = parent === organization ? null : parent.id!;
  /** `more` are columns besides the fields. */
  const write = async (more?: object) => {
    if (action === 'create') row.id = await insertRow(db, organizationId, noun, parentId, state, more);
    else await updateRow(db, organizationId, noun, row.id!, state, more);
  };
  switch (step.noun) {
    case 'channel': {
      const { slug, providers = action === 'create' ? [] : undefined } = step.state;
      const secrets = providers?.map(one => one.secrets);
      await write(
        providers && {
          providers: JSON.stringify(providers.map(toProviderEntry)),
          secrets: sealSecrets(cipher, organizationId, parentId, slug, secrets!),
        },
      );
      const changesDayLimit = step.fields.some(({ field }) => /^providers\.\d+\.(per_day|warm_up_)/.test(field));
      if (changesDayLimit) await releaseDayLimited(db, organizationId, row.id!);
      return;
    }
    case 'layout': {
      await write();
      const { body } = step.state;
      if (step.before?.body !== body) await addVersion(db, organizationId, 'layout', row.id!, body, by);
      return;
    }
    case 'webhook': {
      const { slug, secret } = step.state;
      const isNew = action === 'create';
      // A new secret replaces the previous one, too.
      const stored = isNew ? (secret ?? generateWebhookSecret()) : secret;
      const secrets =
        isNew || secret ? sealWebhookSecrets(cipher, organizationId, slug, { secret: stored! }) : undefined;
      await write(isNew || !secret ? { secrets } : { secrets, previous_until: null });
      if (isNew) await createWebhookState(db, organizationId, row.id!);
      return;
    }
    case 'source': {
      const { slug, token, secret, update_secret } = step.state;
      const isSame = action !== 'create' && [token, secret, update_secret].every(one => one === undefined);
      const { before } = step;
      const secrets = {
        token: token ?? before?.token,
        secret: secret ?? before?.secret,
        update_secret: update_secret ?? before?.update_secret,
      };
      return write(isSame ? undefined : sealSource(cipher, organizationId, parentId!, slug, secrets));
    }
    case 'heartbeat': {
      const { slug, token = step.before?.token } = step.state;
      const isSame = action !== 'create' && step.state.token === undefined;
      await write(isSame ? undefined : sealSource(cipher, organizationId, parentId!, slug, { token }, 'heartbeat'));
      return rescheduleHeartbeat(db, organizationId, row.id!);
    }
    case 'watch': {
      const { slug, url } = step.state;
      return write(
        url === undefined ? undefined : { secrets: sealWatch(cipher, organizationId, parentId!, slug, url) },
      );
    }
    case 'schedule': {
      await write();
      if (step.state.on_change || step.state.groups) await lookFirst(db, organizationId, row.id!);
      return;
    }
    case 'notification': {
      await write();
      const { content } = step.state;
      if (hasContentChanged(step.before, step.state))
        await addVersion(db, organizationId, 'notification', row.id!, content as unknown as Json, by);
      return;
    }
    default:
      return write();
  }
}

async function writeOrganization(db: Db, { action, row, state }: StepOf<'organization'>): Promise<void> {
  const fields = pickFields(organization, state);
  if (action === 'create') row.id = await createOrganizationAcrossTenants(db, fields);
  else await updateOrganization(db, row.id!, fields);
}
