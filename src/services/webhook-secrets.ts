/** What signs the messages to a webhook, sealed for that webhook alone. */
import { AppError } from '../core/errors.ts';
import type { Cipher } from '../lib/cipher.ts';

export interface WebhookSecrets {
  secret: string;
  /** The one before it, while receivers change over. */
  previous?: string;
}

export interface SealedWebhook {
  slug: string;
  secrets: Buffer;
}

export function sealWebhookSecrets(
  cipher: Cipher,
  organizationId: number,
  slug: string,
  secrets: WebhookSecrets,
): Buffer {
  return cipher.seal(JSON.stringify(secrets), purposeOf(organizationId, slug));
}

/** Throws `secret.unreadable`. */
export function openWebhookSecrets(
  cipher: Cipher,
  organizationId: number,
  { slug, secrets }: SealedWebhook,
): WebhookSecrets {
  try {
    return JSON.parse(cipher.open(secrets, purposeOf(organizationId, slug))) as WebhookSecrets;
  } catch (cause) {
    throw new AppError(
      'secret.unreadable',
      `the secret of webhook ${slug} cannot be decrypted: set BELFRY_SECRET_KEY to the key it was stored with, or ` +
        'delete the webhook and create it anew',
      { cause },
    );
  }
}

function purposeOf(organizationId: number, slug: string): string {
  return `webhook ${organizationId}/${slug}`;
}
