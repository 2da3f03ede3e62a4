/**
 * The queue of mails to members who decide about what a guard holds, or who can correct a source that rejects alerts. Each member has one row, to which the statement that holds
 * something adds it. The first is mailed at once; what follows within `digestMinutes` shares a mail.
 */
import { sql } from 'kysely';
import type pg from 'pg';
import { permissionsOf, roles } from '../../core/identity/roles.ts';
import type { Db } from '../connection/pool.ts';
import { stoppedText } from './moving-text.ts';

const digestMinutes = 5;
/** Items that a mail describes; the others are only counted. */
const maxItems = 10;
/** Longer than an SMTP exchange takes. What was claimed by a process that has ended is then mailed again. */
export const guardMailClaimMinutes = 5;
/** About a day of attempts. What happens meanwhile waits for the next one. */
const maxAttempts = 50;
const maxDelayMinutes = 30;

/** What happened. */
export type GuardMailItem =
  | { kind: 'held' | 'expired'; occurrence: string }
  | { kind: 'rate'; noun: string; path: string; reason: string; urgent: boolean }
  | { kind: 'rejected'; path: string; state: 'partly' | 'rejected' | 'refused'; error: string };

/** Who is mailed about what: `holds` need an approval, `rates` have paused something, and `sources` reject something. */
const recipientRoles = {
  holds: roles.filter(role => permissionsOf(role).includes('occurrence:approve')),
  rates: ['owner'],
  sources: roles.filter(role => permissionsOf(role).includes('source:write')),
};
type About = keyof typeof recipientRoles;

const abouts = Object.keys(recipientRoles) as About[];

const rolesText = (about: About) => `'{${recipientRoles[about].join(',')}}'`;

/** SQL text of a CTE that queues mails about at most one row of `happened(organization_id, item)`. */
export function guardMailsText(happened: string, about: About): string {
  return `queued_mails as (
    insert into guard_mails as m (organization_id, account_id, about, items, count, due_at)
    select s.organization_id, s.account_id, '${about}', jsonb_build_array(h.item), 1, now()
    from ${happened} h
    join memberships s on s.organization_id = h.organization_id and s.role = any(${rolesText(about)})
    order by 1, 2
    on conflict (organization_id, account_id, about) do update set
      items = case when jsonb_array_length(m.items) < ${maxItems} then m.items || excluded.items else m.items end,
      count = m.count + 1,
      due_at = coalesce(m.due_at, greatest(now(), m.sent_at + interval '${digestMinutes} minutes')))`;
}

export interface ClaimedGuardMail {
  organization_id: number;
  account_id: number;
  about: About;
  items: GuardMailItem[];
  count: number;
  /** As text, which has microseconds: the process that settles it must still have this claim. */
  claim: string;
  attempts: number;
  email: string;
  slug: string;
  name: string;
}

/** Claims mails that are due, of members who still have the role. */
export async function claimGuardMailsAcrossTenants(pool: pg.Pool, max: number): Promise<ClaimedGuardMail[]> {
  const { rows } = await pool.query<ClaimedGuardMail>({
    name: 'claim_guard_mails',
    text: `
      with due as (
        select organization_id, account_id, about from guard_mails
        where due_at <= now() and organization_id <> all(${stoppedText})
        order by due_at limit $1 for update skip locked
      ), claimed as (
        update guard_mails m set claimed = coalesce(m.claimed, jsonb_build_object('items', m.items, 'count', m.count)),
          items = case when m.claimed is null then '[]' else m.items end,
          count = case when m.claimed is null then 0 else m.count end,
          attempts = m.attempts + 1, due_at = now() + interval '${guardMailClaimMinutes} minutes'
        from due d
        where m.organization_id = d.organization_id and m.account_id = d.account_id and m.about = d.about
        returning m.*
      )
      select c.organization_id, c.account_id, c.about, c.due_at::text as claim, c.attempts, a.email, o.slug, o.name,
        case when s.role = any(case c.about ${abouts.map(about => `when '${about}' then ${rolesText(about)}::text[]`).join(' ')} end)
          then c.claimed -> 'items' else '[]' end as items, (c.claimed -> 'count')::int as count
      from claimed c
      join organizations o on o.id = c.organization_id
      join memberships s on s.organization_id = c.organization_id and s.account_id = c.account_id
      join accounts a on a.id = c.account_id`,
    values: [max],
  });
  return rows;
}

/** `isSent`: otherwise there was nothing left to report. What was queued meanwhile is mailed later. */
export async function settleGuardMail(
  db: Db,
  organizationId: number,
  claimed: ClaimedGuardMail,
  { isSent }: { isSent: boolean },
): Promise<void> {
  await sql`
    update guard_mails set claimed = null, attempts = 0, sent_at = case when ${isSent} then now() else sent_at end,
      due_at = case when count > 0 then now() + case when ${isSent} then interval ${sql.lit(`${digestMinutes} minutes`)} else interval '0' end end
    where ${stillClaimed(organizationId, claimed)}`.execute(db);
}

/** Returns whether it is tried again. */
export async function postponeGuardMail(db: Db, organizationId: number, claimed: ClaimedGuardMail): Promise<boolean> {
  if (claimed.attempts >= maxAttempts) {
    await settleGuardMail(db, organizationId, claimed, { isSent: false });
    return false;
  }
  const minutes = Math.min(2 ** (claimed.attempts - 1), maxDelayMinutes);
  await sql`
    update guard_mails set due_at = now() + ${minutes} * interval '1 minute' where ${stillClaimed(organizationId, claimed)}`.execute(
    db,
  );
  return true;
}

const stillClaimed = (organizationId: number, { account_id, about, claim }: ClaimedGuardMail) => sql`
  organization_id = ${organizationId} and account_id = ${account_id} and about = ${about} and due_at = ${claim}::timestamptz`;

/** Deletes what could not be mailed in time, such as without a mail server. */
export async function deleteOldGuardMailsAcrossTenants(db: Db): Promise<void> {
  await sql`delete from guard_mails where due_at < now() - interval '1 day'`.execute(db);
}
