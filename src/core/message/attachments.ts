/** The files that messages carry: their limits, names and types. */
import { type Static, Type } from 'typebox';
import type { FieldErrors } from '../errors.ts';
import { optionalString } from '../optional.ts';

export const attachmentLimits = {
  /** Per message. */
  files: 10,
  /** Per message, all files together. */
  bytes: 10 * 1024 * 1024,
  name: 150,
  url: 2_048,
  /** How long an upload that no trigger uses is kept. */
  uploadHours: 24,
  /** Uploads of an organization that no trigger has used yet. */
  unusedFiles: 1_000,
  unusedBytes: 500 * 1024 * 1024,
} as const;

export const contentIdPattern = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';

export const AttachmentReference = Type.Object(
  {
    id: optionalString({ format: 'uuid', description: 'Id of an uploaded file: see *Upload attachment*.' }),
    url: optionalString({
      maxLength: attachmentLimits.url,
      pattern: '^https?://[!-~]+$',
      patternHint: 'must be an http or https URL, with other characters than ASCII encoded',
      description: 'URL of a file, which is fetched once before the first message is sent.',
    }),
    name: optionalString({
      minLength: 1,
      maxLength: attachmentLimits.name,
      description: 'File name that recipients see. Default: that of the upload or the URL.',
    }),
    content_id: optionalString({
      pattern: contentIdPattern,
      patternHint: 'must be letters, digits, dots, dashes and underscores',
      description: 'For an image in the body of an email, which refers to it as `cid:` and this id.',
    }),
  },
  { additionalProperties: false },
);

export type AttachmentReference = Static<typeof AttachmentReference>;

export const AttachmentEntry = Type.Object(
  {
    url: Type.String({
      minLength: 1,
      maxLength: attachmentLimits.url,
      description:
        'URL of the file, which is fetched before the message is sent. A template; if empty, nothing is attached.',
    }),
    name: optionalString({
      minLength: 1,
      maxLength: attachmentLimits.name,
      description: 'File name that recipients see. A template. Absent: the last part of the URL.',
    }),
    content_id: AttachmentReference.properties.content_id,
  },
  { additionalProperties: false },
);

export type AttachmentEntry = Static<typeof AttachmentEntry>;

export const AttachmentEntries = Type.Array(AttachmentEntry, {
  maxItems: attachmentLimits.files,
  description: 'Files to send with the message, at most 10 MiB together with those of the trigger.',
});

/** What the history and providers show of a file. */
export interface AttachmentFacts {
  id: string;
  name: string;
  content_type: string;
  bytes: number;
}

/** Returns what is wrong with the references of a trigger, by field. */
export function findReferenceErrors(references: readonly AttachmentReference[], field: string): FieldErrors {
  const errors: FieldErrors = {};
  const sources = new Set<string>();
  const contentIds = new Set<string>();
  for (const [i, reference] of references.entries()) {
    const at = `${field}/${i}`;
    const { content_id } = reference;
    if ((reference.id === undefined) === (reference.url === undefined)) errors[at] = ['use either id or url'];
    else if (sources.has(sourceOf(reference))) errors[at] = ['the same file is attached twice'];
    else if (content_id !== undefined && contentIds.has(content_id))
      errors[`${at}/content_id`] = ['another file has this content_id'];
    const nameError = reference.name === undefined ? undefined : findNameError(toFileName(reference.name) ?? '');
    if (nameError) errors[`${at}/name`] = [nameError];
    sources.add(sourceOf(reference));
    if (content_id !== undefined) contentIds.add(content_id);
  }
  return errors;
}

/** Returns the key under which an occurrence stores the file. */
export function sourceOf({ id, url }: AttachmentReference): string {
  return id?.toLowerCase() ?? url ?? '';
}

/** Removes the path and everything that a file system or a header could misread. Returns undefined if nothing is left. */
export function toFileName(text: string): string | undefined {
  const base = text.split(/[/\\]/).at(-1)!;
  const clean = base
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"|?*]+/gu, '')
    .replace(/\s+/g, ' ')
    .replace(/^[. ]+|[. ]+$/g, '');
  if (clean.length <= attachmentLimits.name) return clean || undefined;
  const [extension = ''] = /\.[A-Za-z0-9]{1,10}$/.exec(clean) ?? [];
  return clean.slice(0, attachmentLimits.name - extension.length).toWellFormed() + extension;
}

/** Returns the name in the path of a URL, or `attachment`. */
export function fileNameOfUrl(url: string): string {
  const { pathname } = new URL(url);
  let name = pathname;
  try {
    name = decodeURIComponent(pathname);
  } catch {
    // Not encoded as UTF-8: used as it is.
  }
  return toFileName(name) ?? 'attachment';
}

/** Returns the media type without parameters in lower case; undefined if it is not one. */
export function toMediaType(header: string | undefined): string | undefined {
  const type = (header ?? 'application/octet-stream').split(';', 1)[0]!.trim().toLowerCase();
  return type.length <= 127 && /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/.test(type) ? type : undefined;
}

/** Mail services refuse these, and no notification needs them. */
const programExtensions = new Set(
  'ade adp apk app appimage application bat bin chm cmd com cpl deb dll dmg elf exe hta iso jar jnlp js jse lnk mde msc msi msp msu pif ps1 psm1 reg rpm scr sct sh svcm sys vb vbe vbs vhd vhdx vxd wsc wsf wsh xll'.split(
    ' ',
  ),
);
const programTypes =
  /^application\/(x-(msdownload|msdos-program|executable|elf|mach-binary|sharedlib|sh|csh|bat|ms-shortcut|dosexec)|vnd\.microsoft\.portable-executable|java-archive|vnd\.android\.package-archive|javascript|hta)$|^text\/javascript$/;

const startsWith = (...signatures: string[]) => {
  const starts = signatures.map(text => Buffer.from(text, 'latin1'));
  return (head: Buffer) => starts.some(start => head.subarray(0, start.length).equals(start));
};

const isProgram = startsWith(
  'MZ', // Windows
  '\x7fELF', // Linux
  '\xfe\xed\xfa\xce', // macOS, and the following
  '\xfe\xed\xfa\xcf',
  '\xce\xfa\xed\xfe',
  '\xcf\xfa\xed\xfe',
  '\xca\xfe\xba\xbe', // also Java
  '#!',
  'L\0\0\0\x01\x14\x02\0', // a Windows shortcut
  'dex\n', // Android
);

const isZip = startsWith('PK\x03\x04', 'PK\x05\x06');
const isCompoundFile = startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1');

/** How the bytes of common types begin. The bytes of other types are not checked. */
const signatures: [type: RegExp, matches: (head: Buffer) => boolean][] = [
  // Readers accept a PDF whose header comes later; those files are valid too.
  [/^application\/pdf$/, head => head.includes('%PDF-')],
  [/^image\/png$/, startsWith('\x89PNG\r\n\x1a\n')],
  [/^image\/jpe?g$/, startsWith('\xff\xd8\xff')],
  [/^image\/gif$/, startsWith('GIF87a', 'GIF89a')],
  [/^image\/webp$/, head => head.subarray(8, 12).toString('latin1') === 'WEBP'],
  [/^image\/bmp$/, startsWith('BM')],
  [/^image\/tiff$/, startsWith('II*\0', 'MM\0*')],
  [/^image\/svg\+xml$/, head => /^\ufeff?\s*</.test(head.toString('utf8'))],
  [/^application\/(zip|vnd\.openxmlformats-.*|vnd\.oasis\.opendocument\..*)$/, isZip],
  [/^application\/(msword|vnd\.ms-excel|vnd\.ms-powerpoint)$/, isCompoundFile],
  [/^application\/(x-)?gzip$/, startsWith('\x1f\x8b')],
  [/^(text\/.*|application\/(json|xml))$/, head => !head.includes(0)],
];

/** Returns why a file with this name must not be sent, or undefined. */
export function findNameError(name: string): string | undefined {
  const extension = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase();
  if (extension === undefined || !programExtensions.has(extension)) return undefined;
  return `files with the extension .${extension} are not sent: put it into an archive, or send a link`;
}

/** Bytes at the start of a file that `findContentError` needs. */
export const headBytes = 1_024;

/** Returns why a file must not be sent, or undefined. `head` is the start of its content. */
export function findContentError(name: string, contentType: string, head: Buffer): string | undefined {
  const problem = findNameError(name);
  if (problem) return problem;
  if (programTypes.test(contentType) || isProgram(head)) return 'programs are not sent: send a link instead';
  const wrong = signatures.find(([type, matches]) => type.test(contentType) && !matches(head));
  return wrong && `the content is not of the type ${contentType}: send the type that it has`;
}

/** Says that an organization stores as many bytes of attachments as it may, and what to do. */
export function describeFullStorage(bytes: number, max: number): string {
  return (
    `the organization stores ${describeBytes(Math.min(bytes, max))} of attachments and its limit, attachment_bytes, is ${describeBytes(max)}: ` +
    'reduce retention_days, send links to large files, or ask the operator of this installation for a higher limit'
  );
}

/** Returns a size as people read it, such as `5.2 MB`. */
export function describeBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 999_500) return `${Math.round(bytes / 1_000)} kB`;
  return bytes < 999_950_000 ? `${(bytes / 1_000_000).toFixed(1)} MB` : `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}
