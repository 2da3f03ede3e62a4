/** @belfry/client: calls Belfry from any runtime that has `fetch`. */
export type { ErrorCode, paths } from './api.ts';
export { Belfry, type BelfryOptions, type CallOptions, type TriggerOptions } from './client.ts';
export { BelfryConnectionError, BelfryError } from './errors.ts';
export type { ContextOf, EventPath, Events } from './events.ts';
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookData,
  type WebhookEvent,
  WebhookVerificationError,
} from './webhooks.ts';
