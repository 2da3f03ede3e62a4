/** Encrypts and decrypts the signing secrets of webhooks, bound to the webhook they belong to. */
import type { Cipher } from '../../lib/secrets/cipher.ts';
import { openSealed } from '../../pipeline/channel-secrets.ts';

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
  const text = openSealed(
    cipher,
    secrets,
    purposeOf(organizationId, slug),
    `the secret of webhook ${slug} cannot be decrypted: set BELFRY_SECRET_KEY to the key it was stored with, or ` +
      'rotate the secret with the overlap 0s',
  );
  return JSON.parse(text) as WebhookSecrets;
}

function purposeOf(organizationId: number, slug: string): string {
  return `webhook ${organizationId}/${slug}`;
}
