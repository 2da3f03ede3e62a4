import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/**
 * Why a request got no response. A caller must look at `sent` before it retries: false means that the peer has not
 * received a byte of the request, true that it may have acted on it.
 */
type OutboundFailure =
  /** Refused before any connection: a forbidden address, or an unsupported scheme. */
  | 'refused'
  /** Not followed: a redirect from https to http. The URL may be a secret, which everyone on the way could read. */
  | 'unencrypted'
  /** This process has no file descriptor, port or memory left for the request; the peer was not involved. */
  | 'local'
  /** No connection: the name does not resolve, the connection is refused, or the certificate is invalid. */
  | 'connect'
  | 'timeout'
  /** The connection ended, or the response was not valid HTTP. */
  | 'broken'
  /** The response headers are too large. A long body is cut and is not an error. */
  | 'too_large'
  /** Not sent, because the caller of the provider no longer allowed it. */
  | 'withdrawn';

/** Causes within this machine: no descriptors (process, system), memory, buffers or local ports left. */
const localCodes = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL']);

/** Returns whether the machine, and not the peer, is why a connection could not be opened. */
export function isLocalFailure({ code = '' }: NodeJS.ErrnoException): boolean {
  // The resolver does not say that it could not open a socket.
  return localCodes.has(code) || (/^(EAI_|ENOTFOUND$)/.test(code) && !hasFreeDescriptor());
}

function hasFreeDescriptor(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return true;
  } catch {
    return false;
  }
}

export class OutboundError extends Error {
  readonly kind: OutboundFailure;
  readonly sent: boolean;

  constructor(kind: OutboundFailure, sent: boolean, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'OutboundError';
    this.kind = kind;
    this.sent = sent;
  }

  /** Whether another attempt has the same outcome, until someone changes the URL or what is allowed. */
  get isFinal(): boolean {
    return this.kind === 'refused' || this.kind === 'unencrypted';
  }
}
