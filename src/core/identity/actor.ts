/** The author of a change, as recorded in the audit log. */
export interface Actor {
  kind: 'key' | 'account' | 'command' | 'visitor';
  /** Id of the key or account. */
  id: string | null;
  name: string;
  /** The network address of the client. */
  origin: string | null;
  requestId: string | null;
}

/** The command line, or the service itself, for example when it creates the demo data on first start. */
export const commandLine: Actor = {
  kind: 'command',
  id: null,
  name: 'command line',
  origin: null,
  requestId: null,
};

/** Returns the name that occurrences record for an actor. */
export function actorName({ kind, name }: Actor): string {
  return kind === 'key' ? `API key ${name}` : name;
}

/** A visitor who is not signed in. */
export const anonymous: Actor = { ...commandLine, kind: 'visitor', name: 'anonymous' };
