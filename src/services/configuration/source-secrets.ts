/** Encrypts and decrypts the token of a source or heartbeat, the secret of a source, and the URL of a watch, bound to what they belong to. */
import { sha256 } from '../../core/identity/tokens.ts';
import { generateSourceToken } from '../../core/sources/token.ts';
import type { Cipher } from '../../lib/secrets/cipher.ts';
import { openSealed } from '../../pipeline/channel-secrets.ts';

export interface SourceSecrets {
  token?: string;
  /** Undefined or empty: the sender is not verified. */
  secret?: string;
  /** Authenticates requests to the sender. Undefined or empty: there is none. */
  update_secret?: string;
}

/** What the secrets belong to. */
type Owner = 'source' | 'heartbeat';

export interface SealedSource {
  application_id: number;
  slug: string;
  secrets: Buffer;
}

/** Returns the columns. A missing token is generated. */
export function sealSource(
  cipher: Cipher,
  organizationId: number,
  applicationId: number,
  slug: string,
  { token = generateSourceToken(), secret, update_secret }: SourceSecrets,
  owner: Owner = 'source',
): { secrets: Buffer; token_hash: Buffer } {
  const sealed = cipher.seal(
    JSON.stringify({ token, ...(secret && { secret }), ...(update_secret && { update_secret }) }),
    purposeOf(owner, organizationId, applicationId, slug),
  );
  return { secrets: sealed, token_hash: sha256(token) };
}

/** Throws `secret.unreadable`. */
export function openSourceSecrets(
  cipher: Cipher,
  organizationId: number,
  { application_id, slug, secrets }: SealedSource,
  owner: Owner = 'source',
): SourceSecrets & { token: string } {
  const text = openSealed(
    cipher,
    secrets,
    purposeOf(owner, organizationId, application_id, slug),
    `the secrets of ${owner} ${slug} cannot be decrypted: set BELFRY_SECRET_KEY to the key they were stored with, or give the ` +
      `${owner} another token${owner === 'source' ? ' and secret' : ''}`,
  );
  return JSON.parse(text);
}

function purposeOf(owner: Owner | 'watch', organizationId: number, applicationId: number, slug: string): string {
  return `${owner} ${organizationId}/${applicationId}/${slug}`;
}

export interface SealedWatch {
  application_id: number;
  slug: string;
  secrets: Buffer | null;
}

/** Encrypts the URL, bound to what it belongs to. An empty one is not stored. */
export function sealWatch(
  cipher: Cipher,
  organizationId: number,
  applicationId: number,
  slug: string,
  url: string,
): Buffer | null {
  return url === ''
    ? null
    : cipher.seal(JSON.stringify({ url }), purposeOf('watch', organizationId, applicationId, slug));
}

/** Returns the URL; undefined if there is none. Throws `secret.unreadable`. */
export function openWatch(
  cipher: Cipher,
  organizationId: number,
  { application_id, slug, secrets }: SealedWatch,
): string | undefined {
  if (!secrets) return undefined;
  const text = openSealed(
    cipher,
    secrets,
    purposeOf('watch', organizationId, application_id, slug),
    `the URL of watch ${slug} cannot be decrypted: set BELFRY_SECRET_KEY to the key it was stored with, or give the watch its URL again`,
  );
  return (JSON.parse(text) as { url: string }).url;
}
