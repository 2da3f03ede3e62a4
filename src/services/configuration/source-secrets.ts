/** Encrypts and decrypts the token of a source or heartbeat, the secret of a source, and the URL of a watch, bound to what they belong to. */
import { AppError } from '../../core/errors.ts';
import { sha256 } from '../../core/identity/tokens.ts';
import { generateSourceToken } from '../../core/sources/token.ts';
import type { Cipher } from '../../lib/secrets/cipher.ts';

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
  try {
    return JSON.parse(cipher.open(secrets, purposeOf(owner, organizationId, application_id, slug)));
  } catch (cause) {
    throw new AppError(
      'secret.unreadable',
      `the secrets of ${owner} ${slug} cannot be decrypted: set BELFRY_SECRET_KEY to the key they were stored with, or give the ` +
        `${owner} another token${owner === 'source' ? ' and secret' : ''}`,
      { cause },
    );
  }
}

function purposeOf(owner: Owner, organizationId: number, applicationId: number, slug: string): string {
  return `${owner} ${organizationId}/${applicationId}/${slug}`;
}

export interface SealedWatch {
  application_id: number;
  slug: string;
  secrets: Buffer | null;
}

const watchPurposeOf = (organizationId: number, applicationId: number, slug: string) =>
  `watch ${organizationId}/${applicationId}/${slug}`;

/** Encrypts the URL, bound to what it belongs to. An empty one is not stored. */
export function sealWatch(
  cipher: Cipher,
  organizationId: number,
  applicationId: number,
  slug: string,
  url: string,
): Buffer | null {
  return url === '' ? null : cipher.seal(JSON.stringify({ url }), watchPurposeOf(organizationId, applicationId, slug));
}

/** Returns the URL; undefined if there is none. Throws `secret.unreadable`. */
export function openWatch(
  cipher: Cipher,
  organizationId: number,
  { application_id, slug, secrets }: SealedWatch,
): string | undefined {
  if (!secrets) return undefined;
  try {
    return (JSON.parse(cipher.open(secrets, watchPurposeOf(organizationId, application_id, slug))) as { url: string })
      .url;
  } catch (cause) {
    throw new AppError(
      'secret.unreadable',
      `the URL of watch ${slug} cannot be decrypted: set BELFRY_SECRET_KEY to the key it was stored with, or give the watch its URL again`,
      { cause },
    );
  }
}
