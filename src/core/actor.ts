/** Who changes something, as the audit log remembers it. */
export interface Actor {
  kind: 'key' | 'account' | 'command' | 'visitor';
  /** Of the key or account. */
  id: string | null;
  name: string;
  /** The network address that the request came from. */
  origin: string | null;
  requestId: string | null;
}

/** Work at the command line, or of the service itself, such as the demo of the first start. */
export const commandLine: Actor = {
  kind: 'command',
  id: null,
  name: 'command line',
  origin: null,
  requestId: null,
};

/** Somebody who is not signed in. */
export const anonymous: Actor = { ...commandLine, kind: 'visitor', name: 'anonymous' };
