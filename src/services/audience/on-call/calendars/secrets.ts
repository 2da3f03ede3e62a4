/** Encrypts and decrypts the addresses of calendars, bound to the user they belong to. */
import type { Cipher } from '../../../../lib/secrets/cipher.ts';
import { openSealed } from '../../../../pipeline/channel-secrets.ts';

export interface SealedCalendar {
  user_id: number;
  host: string;
  secrets: Buffer;
}

export function sealCalendar(cipher: Cipher, organizationId: number, userId: number, url: string): Buffer {
  return cipher.seal(url, purposeOf(organizationId, userId));
}

/** Throws `secret.unreadable`. */
export function openCalendar(
  cipher: Cipher,
  organizationId: number,
  { user_id, host, secrets }: SealedCalendar,
): string {
  return openSealed(
    cipher,
    secrets,
    purposeOf(organizationId, user_id),
    `the address of the calendar on ${host} cannot be decrypted: set BELFRY_SECRET_KEY to the key it was stored with, or enter the ` +
      'address again',
  );
}

function purposeOf(organizationId: number, userId: number): string {
  return `absence calendar ${organizationId}/${userId}`;
}
