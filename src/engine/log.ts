import type { Logger } from 'pino';

/** The logger that the engine's modules use. */
export type Log = Pick<Logger, 'info' | 'warn' | 'error'>;
