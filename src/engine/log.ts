import type { Logger } from 'pino';

/** What the engine's parts write to. */
export type Log = Pick<Logger, 'info' | 'warn' | 'error'>;
