/** PostgreSQL's COPY over a connection of the pool: rows in text format, in blocks, as fast as both sides can take them. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type pg from 'pg';

/** Rows are collected into blocks of about this size: one write per row would take longer than reading it. */
const blockBytes = 256 * 1024;

/** The part of pg's connection that its types omit. */
interface CopyConnection {
  stream: Socket;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

/** What pg calls on a query object that it did not create. */
interface CopyQuery {
  submit(connection: CopyConnection): void;
  handleCopyInResponse?(connection: CopyConnection): void;
  handleCopyData?(message: { chunk: Buffer }, connection: CopyConnection): void;
  handleCommandComplete(message: { text: string }): void;
  handleError(error: Error): void;
  handleReadyForQuery(): void;
}

const submit = (client: pg.PoolClient, query: CopyQuery) => client.query(query as unknown as pg.Submittable);
const rowsOf = ({ text }: { text: string }) => Number(/^COPY (\d+)/.exec(text)?.[1]);

/**
 * Runs `copy … to stdout` and passes the rows to `write`; reads no further while it writes. Returns the number of rows.
 * After a failure the connection is in the middle of a COPY: close it.
 */
export function copyOut(
  client: pg.PoolClient,
  statement: string,
  write: (block: Buffer, rows: number) => Promise<void>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let rows = 0;
    let parts: Buffer[] = [];
    let size = 0;
    let written = Promise.resolve();
    let stream: Socket;
    const flush = () => {
      const [block, count] = [Buffer.concat(parts, size), parts.length];
      [parts, size] = [[], 0];
      stream.pause();
      written = written.then(() => write(block, count)).then(() => void stream.resume());
      written.catch(reject);
    };
    submit(client, {
      submit: connection => {
        stream = connection.stream;
        connection.query(statement);
      },
      // One message is one row. It is copied, because pg reuses its memory.
      handleCopyData: ({ chunk }) => {
        parts.push(Buffer.from(chunk));
        size += chunk.length;
        if (size >= blockBytes) flush();
      },
      handleCommandComplete: message => {
        rows = rowsOf(message);
      },
      handleError: reject,
      handleReadyForQuery: () => {
        if (size > 0) flush();
        written.then(() => resolve(rows), reject);
      },
    });
  });
}

/** Runs `copy … from stdin` with these blocks, which may end in the middle of a row. Returns the number of rows. */
export function copyIn(client: pg.PoolClient, statement: string, blocks: AsyncIterable<Buffer>): Promise<number> {
  return new Promise((resolve, reject) => {
    let rows = 0;
    let cause: Error | undefined;
    const ended = new AbortController();
    const send = async (connection: CopyConnection) => {
      for await (const block of blocks) {
        if (ended.signal.aborted) return;
        connection.sendCopyFromChunk(block);
        if (connection.stream.writableNeedDrain) await once(connection.stream, 'drain', { signal: ended.signal });
      }
      connection.endCopyFrom();
    };
    submit(client, {
      submit: connection => connection.query(statement),
      handleCopyInResponse: connection => {
        send(connection).catch((error: Error) => {
          if (ended.signal.aborted) return;
          cause = error;
          connection.sendCopyFail(error.message);
        });
      },
      handleCommandComplete: message => {
        rows = rowsOf(message);
      },
      handleError: error => {
        ended.abort();
        reject(cause ?? error);
      },
      handleReadyForQuery: () => resolve(rows),
    });
  });
}
