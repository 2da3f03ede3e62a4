/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
import { Webhook } from 'standardwebhooks';
import type { Outbound } from '../../lib/network/outbound.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { type HttpSend, sendHttp } from '../http-outcome.ts';
import type { Outcome } from '../sending.ts';

interface SignedPost extends Pick<HttpSend, 'timeoutMs' | 'classify' | 'id' | 'isOfRecipient'> {
  url: string;
  /** The id by which receivers deduplicate: the same for every attempt. */
  messageId: string;
  body: string;
  /** Each one signs; the receiver needs to know only one of them. */
  signers: readonly Signer[];
  /** The parent of the receiver's spans. */
  traceparent?: string | undefined;
}

export interface Signer {
  secret: string;
  webhook: Webhook;
}

export function signerOf(secret: string): Signer {
  return { secret, webhook: new Webhook(secret) };
}

export function postSigned(outbound: Outbound, post: SignedPost): Promise<Outcome> {
  const { url, messageId, body, signers, traceparent, ...more } = post;
  // The time of this attempt: receivers refuse messages that are older than a few minutes.
  const now = new Date(currentTime());
  return sendHttp(outbound, {
    url,
    headers: {
      'content-type': 'application/json',
      'webhook-id': messageId,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': signers.map(({ webhook }) => webhook.sign(messageId, now, body)).join(' '),
      ...(traceparent && { traceparent }),
    },
    body,
    secrets: signers.map(({ secret }) => secret.replace('whsec_', '')),
    ...more,
  });
}
