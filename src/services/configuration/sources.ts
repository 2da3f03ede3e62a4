/** Sources: the addresses that monitoring systems post alerts to. */
import type { EntryOf } from '../../core/configuration/document.ts';
import type { ChangesOf } from '../../core/configuration/entries.ts';
import { pickFields, toEntryFields } from '../../core/configuration/nouns/noun.ts';
import { source as noun, type SourceFields } from '../../core/configuration/nouns/source.ts';
import { mailNameOf, tokenMarkOf } from '../../core/sources/mail-address.ts';
import { generateSourceToken } from '../../core/sources/token.ts';
import type { Slugs } from '../../db/configuration/organizations.ts';
import { findRow } from '../../db/configuration/rows.ts';
import type { Deps } from '../deps.ts';
import { createEntry, gone, type Kind, type Precondition, updateEntry } from './entries.ts';
import { openSourceSecrets } from './source-secrets.ts';

export type Source = Required<SourceFields> & { id: number };

export const source: Kind<'source', Source> = {
  noun: 'source',
  read: async (db, { organization }, id) => {
    const row = await findRow(db, organization.id, 'source', { id });
    if (!row) throw gone('source');
    return { id: row.id, ...pickFields(noun, row) } as Source;
  },
  toAudit: current => toEntryFields(noun, current),
};

/** Creates a source and returns its token, which is generated if absent. */
export async function createSource(
  deps: Deps,
  slugs: Slugs,
  { token = generateSourceToken(), ...entry }: EntryOf<'source'>,
): Promise<Source & { token: string }> {
  return { ...(await createEntry(deps, source, slugs, { ...entry, token })), token };
}

/** Null removes the secret, and generates another token, which is returned. */
export async function updateSource(
  deps: Deps,
  slugs: Slugs,
  id: number,
  { token, secret, update_secret, ...changes }: ChangesOf<EntryOf<'source'>>,
  check: Precondition<Source>,
): Promise<Source & { token?: string }> {
  const made = token === null ? { token: generateSourceToken() } : {};
  const given = {
    ...(token != null && { token }),
    ...(secret !== undefined && { secret: secret ?? '' }),
    ...(update_secret !== undefined && { update_secret: update_secret ?? '' }),
  };
  return { ...(await updateEntry(deps, source, slugs, id, { ...changes, ...given, ...made }, check)), ...made };
}

/** Returns what precedes the @ of the address to which alerts can be mailed. */
export function mailNameOfSource({ signer }: Deps, organizationId: number, sourceId: number, token: string): string {
  return mailNameOf({ organizationId, sourceId, tokenMark: tokenMarkOf(token)! }, signer.signShort);
}

/** Returns the token, whether senders are verified, and whether requests to them are authenticated. */
export function readSourceSecrets(
  { cipher }: Deps,
  organizationId: number,
  row: { application_id: number; slug: string; secrets: Buffer },
): { token: string; has_secret: boolean; has_update_secret: boolean } {
  const { token, secret, update_secret } = openSourceSecrets(cipher, organizationId, row);
  return { token, has_secret: secret !== undefined, has_update_secret: update_secret !== undefined };
}
