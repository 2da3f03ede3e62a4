/**
 * Why a request got no answer. `sent` is what a caller must know before it tries again: false means that the peer has
 * not seen one byte of the request, true that it may have acted on it.
 */
export type OutboundFailure =
  /** By our own guard, before any connection: a forbidden address, a scheme we do not speak. */
  | 'refused'
  /** No connection: no such name, nobody listening, no valid certificate. */
  | 'connect'
  | 'timeout'
  /** The connection ended, or what came was no answer. */
  | 'broken'
  /** Headers without end. A long body is cut and is no error. */
  | 'too_large';

export class OutboundError extends Error {
  readonly kind: OutboundFailure;
  readonly sent: boolean;

  constructor(kind: OutboundFailure, sent: boolean, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'OutboundError';
    this.kind = kind;
    this.sent = sent;
  }
}
