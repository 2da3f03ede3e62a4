/** Encrypts the secrets of a channel: one object for each provider, sealed together and bound to that channel. */
import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { Cipher } from '../lib/secrets/cipher.ts';

export interface SealedChannel {
  /** Null for a channel of the organization itself. */
  project_id: number | null;
  slug: string;
  secrets: Buffer | null;
}

/** Returns null when there are no secrets. */
export function sealSecrets(
  cipher: Cipher,
  organizationId: number,
  projectId: number | null,
  slug: string,
  secrets: JsonObject[],
): Buffer | null {
  if (secrets.every(one => Object.keys(one).length === 0)) return null;
  return cipher.seal(JSON.stringify(secrets), purposeOf(organizationId, projectId, slug));
}

/** Throws `secret.unreadable`; `calledAs` is the name of the channel in the message. */
export function openSecrets(
  cipher: Cipher,
  organizationId: number,
  channel: SealedChannel,
  calledAs: string = channel.slug,
): JsonObject[] {
  const { project_id, slug, secrets } = channel;
  if (!secrets) return [];
  const text = openSealed(
    cipher,
    secrets,
    purposeOf(organizationId, project_id, slug),
    `the secrets of channel ${calledAs} cannot be decrypted: set BELFRY_SECRET_KEY to the key they were stored with, or ` +
      'delete the channel and apply it again',
  );
  return JSON.parse(text) as JsonObject[];
}

/** Decrypts the secrets of any row. Throws `secret.unreadable` with the message. */
export function openSealed(cipher: Cipher, sealed: Buffer, purpose: string, message: string): string {
  try {
    return cipher.open(sealed, purpose);
  } catch (cause) {
    throw new AppError('secret.unreadable', message, { cause });
  }
}

function purposeOf(organizationId: number, projectId: number | null, slug: string): string {
  return `channel ${organizationId}/${projectId ?? '-'}/${slug}`;
}
