import { readFileSync } from 'node:fs';

/** Returns how many files and sockets this process may have open at once; Infinity where the system does not say. */
export function readOpenFilesLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Connections to the database, threads, files, and some messages to providers. */
const minReserved = 128;
const reservedShare = 0.2;

/**
 * Returns how many connections a server of this process may accept: clients must not use up the file descriptors with which messages
 * are sent and stored.
 */
export function maxAcceptedConnections(openFiles: number): number {
  return Math.max(16, Math.floor(openFiles - Math.max(minReserved, openFiles * reservedShare)));
}
