/** The files of an import: what was read, and the configuration that it became. */
import { readFile, writeFile } from 'node:fs/promises';
import type { OrganizationDocument } from '../../core/configuration/document.ts';
import { AppError } from '../../core/errors.ts';
import type { Imported, Note } from '../../core/import/imported.ts';
import { readText } from '../declarative-file.ts';
import { toYaml } from '../export.ts';
import { printable } from '../format.ts';

/** Both files contain the tokens of integrations. */
const mode = 0o600;
const mark = '# Written by `belfry import';

export async function readSaved(name: string): Promise<unknown> {
  try {
    return JSON.parse(await readText(name));
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('file.invalid', `${name} is not JSON: name a file that --save has written`);
  }
}

export async function save(name: string, data: unknown): Promise<void> {
  await writeTo(name, `${JSON.stringify(data, null, 2)}\n`);
}

/** Where in an existing organization the import goes. */
export interface Target {
  organization: { slug: string; name: string };
  project: { slug: string; name: string };
  application: { slug: string; name: string };
}

export function toDocument(imported: Imported, { organization, project, application }: Target): OrganizationDocument {
  const { users, lists, schedules, events, sources } = imported;
  const applications = [{ ...application, events, sources }];
  const entries = schedules.map(({ entry }) => entry);
  return {
    ...organization,
    users,
    projects: [{ ...project, distribution_lists: lists, schedules: entries, applications }],
  };
}

/** Writes the file, unless there is one that someone has written. */
export async function writeConfiguration(name: string, system: string, document: OrganizationDocument, notes: Note[]) {
  const existing = await readFile(name, 'utf8').catch(() => mark);
  if (!existing.startsWith(mark))
    throw new AppError('file.invalid', `${name} was not written by an import: name another file with --to`);
  const comments = notes.map(note => `#   ${describeNote(note)}`);
  const head = [
    `${mark} ${system}\`. It contains the tokens of integrations: keep it secret.`,
    ...(comments.length > 0 ? ['#', '# Not carried over, or not as it was:', ...comments] : []),
  ];
  await writeTo(name, `${head.join('\n')}\n${toYaml({ organizations: [document] })}\n`);
}

export function describeNote({ subject, reason }: Note): string {
  return printable(`${subject}: ${reason}`);
}

async function writeTo(name: string, text: string): Promise<void> {
  try {
    await writeFile(name, text, { mode });
  } catch (error) {
    throw new AppError('file.invalid', `${name} cannot be written: ${(error as NodeJS.ErrnoException).code}`);
  }
}
