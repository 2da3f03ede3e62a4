/**
 * The file of a backup: a gzip stream, so that `zcat` shows it. Its first line is the header, as JSON. The rows of each table
 * follow in PostgreSQL's text format, in blocks: a line with the number of bytes, then the bytes. A line with the number of
 * rows and their SHA-256 ends the table. The last line has the SHA-256 of the header and of these lines, so that a file is
 * either complete and unchanged or refused. The checksums detect damage; they do not prove who made the file.
 */
import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { AppError } from '../../core/errors.ts';

const format = 'belfry backup';
const formatVersion = 1;
/** Low, as compressing takes longer than reading the rows. */
const compression = 3;
const maxLineBytes = 4 * 1024 * 1024;
/** A row may be longer: blocks end anywhere. */
const maxBlockBytes = 1024 * 1024;
const newline = 0x0a;
/** zlib's message for a file that is no gzip file at all. */
const notGzip = 'incorrect header check';

export interface BackupHeader {
  /** The version of the PostgreSQL server. */
  postgres: string;
  createdAt: string;
  /** The migrations that the database had: its schema. */
  migrations: string[];
  /** The months that have partitions. */
  months: string[];
  /** The last value of each sequence that was used. */
  sequences: Record<string, number>;
  tables: { name: string; columns: string[] }[];
  /** A value sealed with the secret key, in base64: shows whether a key is the right one. */
  sealed: string;
}

export interface TableSummary {
  name: string;
  rows: number;
  sha256: string;
}

export interface BackupSummary {
  rows: number;
  tables: TableSummary[];
}

/** A file that was read to its end. */
export interface CheckedBackup extends BackupSummary {
  header: BackupHeader;
}

export interface BackupWriter {
  writeBlock(block: Buffer): Promise<void>;
  endTable(name: string, rows: number): Promise<void>;
  /** Writes the last line, and the file to the disk. */
  end(): Promise<BackupSummary>;
  close(): Promise<void>;
}

/** Creates the file, which only its owner can read. */
export async function createBackupFile(file: string, header: BackupHeader): Promise<BackupWriter> {
  const handle = await open(file, 'wx', 0o600);
  const gzip = createGzip({ level: compression });
  const stored = pipeline(gzip, handle.createWriteStream({ flush: true }));
  stored.catch(() => {}); // Reported by the next write.
  const lines = createHash('sha256');
  const tables: TableSummary[] = [];
  let hash = createHash('sha256');
  const write = async (content: Buffer | string) => {
    if (!gzip.write(content)) await Promise.race([once(gzip, 'drain'), stored]);
  };
  const writeLine = (value: object) => {
    const line = `${JSON.stringify(value)}\n`;
    lines.update(line);
    return write(line);
  };
  await writeLine({ format, formatVersion, ...header });
  return {
    async writeBlock(block) {
      hash.update(block);
      for (let from = 0; from < block.length; from += maxBlockBytes) {
        const part = block.subarray(from, from + maxBlockBytes);
        await write(`{"bytes":${part.length}}\n`);
        await write(part);
      }
    },
    async endTable(name, rows) {
      const table = { name, rows, sha256: hash.digest('hex') };
      tables.push(table);
      hash = createHash('sha256');
      await writeLine(table);
    },
    async end() {
      await write(`${JSON.stringify({ sha256: lines.digest('hex') })}\n`);
      gzip.end();
      await stored;
      return summarize(tables);
    },
    async close() {
      gzip.destroy();
      await stored.catch(() => {});
    },
  };
}

const summarize = (tables: TableSummary[]): BackupSummary => ({
  rows: tables.reduce((sum, { rows }) => sum + rows, 0),
  tables,
});

interface BackupUse {
  /** Reads the blocks of a table. Without it they are only checked. */
  table?(name: string, blocks: AsyncIterable<Buffer>): Promise<void>;
  /** Receives the rows of all tables so far, and the share of the file that was read, from 0 to 1. */
  progress(table: string, rows: number, share: number): void;
}

/** Reads the whole file and checks it. Throws `backup.failed` for a file that is damaged or incomplete. */
export async function readBackupFile(file: string, use: BackupUse): Promise<CheckedBackup> {
  const { size } = await stat(file).catch(() => {
    throw new AppError('backup.failed', `file not found: ${file}`);
  });
  const source = createReadStream(file);
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  pipeline(source, gunzip).catch(() => {}); // The reader gets the error.
  const reader = new ByteReader(gunzip);
  const lines = createHash('sha256');
  /** What failed while the file was used, as opposed to the file itself. */
  let failure: unknown;
  try {
    const header = await readHeader(file, reader, lines);
    const tables: TableSummary[] = [];
    for (const { name } of header.tables) {
      const table = new TableReader(reader, rows => {
        const allRows = tables.reduce((sum, each) => sum + each.rows, rows);
        use.progress(name, allRows, source.bytesRead / size);
      });
      await use.table?.(name, table.blocks()).catch(error => {
        failure = error;
        throw error;
      });
      tables.push(await table.end(name, lines));
    }
    const end = JSON.parse(await reader.readLine()) as { sha256?: string };
    if (end.sha256 !== lines.digest('hex')) throw new Error('its checksum does not match');
    if (!(await reader.isAtEnd())) throw new Error('there is something after its end');
    return { header, ...summarize(tables) };
  } catch (error) {
    if (error instanceof AppError || error === failure) throw error;
    throw new AppError(
      'backup.failed',
      `${file} is damaged or incomplete (${(error as Error).message}): nothing was changed`,
      {
        cause: error,
      },
    );
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

async function readHeader(file: string, reader: ByteReader, lines: Hash): Promise<BackupHeader> {
  let header: (BackupHeader & { format: string; formatVersion: number }) | undefined;
  let line = '';
  try {
    line = await reader.readLine();
    header = JSON.parse(line);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('Z_') && message !== notGzip) throw error;
  }
  if (header?.format !== format) {
    const start = await readStart(file);
    const hint = start.startsWith('PGDMP')
      ? ': it was made by pg_dump. Use pg_restore --no-owner, then start Belfry'
      : '';
    throw new AppError('backup.failed', `${file} is not a backup of Belfry${hint}`);
  }
  if (header.formatVersion !== formatVersion) {
    throw new AppError(
      'schema.newer',
      'the backup was made by a newer Belfry: restore it with that version or a newer one',
    );
  }
  lines.update(`${line}\n`);
  return header;
}

async function readStart(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(5), 0, 5, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Reads the rows of one table, and counts and hashes them. */
class TableReader {
  readonly #reader: ByteReader;
  readonly #onRows: (rows: number) => void;
  readonly #hash = createHash('sha256');
  #rows = 0;
  #last: string | undefined;

  constructor(reader: ByteReader, onRows: (rows: number) => void) {
    this.#reader = reader;
    this.#onRows = onRows;
  }

  async *blocks(): AsyncGenerator<Buffer> {
    while (this.#last === undefined) {
      const line = await this.#reader.readLine();
      const { bytes } = JSON.parse(line) as { bytes?: number };
      if (bytes === undefined) this.#last = line;
      else {
        const block = await this.#reader.readBytes(bytes);
        this.#hash.update(block);
        // A line break within a value is escaped.
        for (let at = block.indexOf(newline); at >= 0; at = block.indexOf(newline, at + 1)) this.#rows++;
        this.#onRows(this.#rows);
        yield block;
      }
    }
  }

  async end(name: string, lines: Hash): Promise<TableSummary> {
    for await (const _ of this.blocks()); // What was not read yet is checked all the same.
    const table = JSON.parse(this.#last!) as TableSummary;
    const isSame = table.name === name && table.rows === this.#rows && table.sha256 === this.#hash.digest('hex');
    if (!isSame) throw new Error(`the checksum of ${name} does not match`);
    lines.update(`${this.#last}\n`);
    return table;
  }
}

class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #buffer: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Returns a line without its end. */
  async readLine(): Promise<string> {
    for (let from = 0; ; ) {
      const at = this.#buffer.indexOf(newline, from);
      if (at >= 0) return this.#take(at + 1).toString('utf8', 0, at);
      from = this.#buffer.length;
      if (from > maxLineBytes) throw new Error('a line is too long');
      if (!(await this.#fill())) throw new Error('the file ends early');
    }
  }

  async readBytes(count: number): Promise<Buffer> {
    if (!Number.isInteger(count) || count < 1 || count > maxBlockBytes) throw new Error('a block is too long');
    while (this.#buffer.length < count) if (!(await this.#fill())) throw new Error('the file ends early');
    return this.#take(count);
  }

  async isAtEnd(): Promise<boolean> {
    return this.#buffer.length === 0 && !(await this.#fill());
  }

  async #fill(): Promise<boolean> {
    const { value, done } = await this.#chunks.next();
    if (done) return false;
    this.#buffer = this.#buffer.length === 0 ? value : Buffer.concat([this.#buffer, value]);
    return true;
  }

  #take(count: number): Buffer {
    const taken = this.#buffer.subarray(0, count);
    this.#buffer = this.#buffer.subarray(count);
    return taken;
  }
}
