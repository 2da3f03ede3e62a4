/** Encrypts and decrypts the signing secrets of webhooks, bound to the webhook they belong to. */
import { AppError } from '../../core/errors.ts';
import type { Cipher } from '../../lib/secrets/cipher.ts';

interface WebhookSecrets {
  secret: string;
  /** The previous secret, during the overlap of a rotation. */
  previous?: string;
}

export interface SealedWebhook {
  slug: string;
  secrets: Buffer;
}

export function sealWebhookSecrets(cipher: Cipher, organizationId: number, slug: string, secrets: WebhookSecrets) {
  return cipher.seal(JSON.stringify(secrets), purposeOf(organizationId, slug));
}

/** Throws `secret.unreadable`. */
export function openWebhookSecrets(cipher: Cipher, organizationId: number, { slug, secrets }: SealedWebhook) {
  try {
    return JSON.parse(cipher.open(secrets, purposeOf(organizationId, slug))) as WebhookSecrets;
  } catch (cause) {
    throw new AppError(
      'secret.unreadable',
      `the secret of webhook ${slug} cannot be decrypted: set BELFRY_SECRET_KEY to the key it was stored with, or ` +
        'rotate the secret with the overlap 0s',
      { cause },
    );
  }
}

function purposeOf(organizationId: number, slug: string): string {
  return `webhook ${organizationId}/${slug}`;
}
