import { Type } from 'typebox';
import { attachmentLimits } from '../../core/message/attachments.ts';
import { listOccurrenceAttachments } from '../../db/history/attachments.ts';
import * as attachments from '../../services/history/attachments.ts';
import { endpoints } from '../server/route.ts';
import { timestamp } from '../server/schemas.ts';

const { plain } = endpoints('Attachments');

const mebibytes = attachmentLimits.bytes / 1024 / 1024;

const fields = {
  id: Type.String({ format: 'uuid' }),
  name: Type.String({ description: 'File name.' }),
  content_type: Type.String({ description: 'Media type.' }),
  bytes: Type.Integer({ description: 'Size.' }),
};

const Uploaded = Type.Object({ ...fields, expires_at: timestamp }, { $id: 'UploadedAttachment' });
const Attachment = Type.Object(
  { ...fields, source: Type.String({ description: 'Id of the upload, or the URL that it was fetched from.' }) },
  { $id: 'Attachment' },
);

export const uploadAttachment = plain(['org', 'prj', 'app'], {
  id: 'uploadAttachment',
  summary: 'Upload attachment',
  description:
    `Stores a file of at most ${mebibytes} MiB, for triggers to name in \`options.attachments\`. The body is the content of the ` +
    'file, and the Content-Type header its type, which is checked against the content. Programs are refused. A file ' +
    `can be used by any number of triggers of the organization; if none uses it within ${attachmentLimits.uploadHours} hours, it is deleted.`,
  status: 201,
  problems: [429],
  consumes: '*/*',
  bodyLimit: attachmentLimits.bytes,
  body: Type.Unsafe<Buffer>(Type.String({ format: 'binary', description: 'The file.' })),
  query: Type.Object({
    name: Type.String({ minLength: 1, maxLength: 1_000, description: 'File name. A path is removed.' }),
  }),
  answer: Uploaded,
  handle: async ({ deps, organization, body, query, request }) => {
    const contentType = request.headers['content-type'];
    const upload = { name: query.name, contentType, content: body };
    return attachments.uploadAttachment(deps, organization.id, upload);
  },
});

export const listAttachments = plain(['org', 'identifier'], {
  id: 'listAttachments',
  summary: 'List attachments',
  description: 'The files of the messages of an occurrence. A file with a URL appears once it was fetched.',
  answer: Type.Array(Attachment),
  handle: ({ deps, organization, occurrence }) =>
    listOccurrenceAttachments(deps.db, organization.id, occurrence.identifier),
});

export const downloadAttachment = plain(['org', 'identifier', 'attachment'], {
  id: 'downloadAttachment',
  summary: 'Download attachment',
  description: 'Returns the content of a file, with its own media type.',
  produces: 'application/octet-stream',
  answer: Type.String({ format: 'binary' }),
  handle: async ({ deps, organization, attachment, reply }) => {
    const { name, content_type } = attachment;
    reply
      .type(content_type)
      .header('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`)
      // Opened in a browser nevertheless, a file must not act on behalf of the user.
      .header('content-security-policy', "sandbox; default-src 'none'");
    return reply.send(await attachments.getAttachmentContent(deps, organization.id, attachment)) as never;
  },
});
