/** @belfry/client: speaks to a Belfry from any runtime that has `fetch`. */
export type { ErrorCode, paths } from './api.ts';
export { Belfry, type BelfryOptions, type CallOptions, type TriggerOptions } from './client.ts';
export { BelfryConnectionError, BelfryError } from './errors.ts';
export type { ContextOf, EventPath, Events } from './events.ts';
