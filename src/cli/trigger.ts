import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { detectMimeType } from 'nodemailer/lib/mime-funcs';
import { resolveEventPath } from '../services/configuration/events.ts';
import { uploadAttachment } from '../services/history/attachments.ts';
import { triggerEvent } from '../services/history/triggers.ts';
import { type Command, usageError } from './command.ts';
import { eventOptions, eventUsage, parseEventArguments } from './event-arguments.ts';
import { type Remote, remoteOf } from './remote.ts';

export const trigger: Command = {
  name: 'trigger',
  usage: eventUsage.replace(' [--json]', ' [--attach FILE]… [--json]'),
  summary: 'Trigger an event and print the identifier of the occurrence.',
  details: `${eventOptions}
--attach FILE   send the file with every message; can be repeated
--json          print JSON`,
  examples: [
    `belfry trigger acme/shop/web/order-paid --context '{"order": "A-1", "amount": 12}'`,
    `belfry trigger acme/shop/web/order-paid --options '{"delay": "10m", "priority": "bulk"}'`,
    'belfry trigger acme/shop/web/order-paid --attach invoice.pdf',
  ],
  async run(args, terminal) {
    const { slugs, path, body, files, json } = parseEventArguments(args, { attaches: true });
    const uploads = await Promise.all(files.map(readUpload));
    const remote = remoteOf(terminal);
    const occurrence = remote
      ? await triggerRemotely(remote, path, body, uploads)
      : await terminal.withDeps(async deps => {
          const event = await resolveEventPath(deps, slugs);
          const ids: string[] = [];
          for (const upload of uploads) ids.push((await uploadAttachment(deps, event.organization.id, upload)).id);
          return triggerEvent(deps, event, withAttachments(body, ids));
        });
    terminal.print(json ? JSON.stringify({ occurrence }) : occurrence);
  },
};

type Body = ReturnType<typeof parseEventArguments>['body'];
type Upload = Awaited<ReturnType<typeof readUpload>>;

async function triggerRemotely(remote: Remote, path: string, body: Body, uploads: readonly Upload[]): Promise<string> {
  const application = path.replace(/e\/[^/]+\/$/, '');
  const ids: string[] = [];
  for (const { name, contentType, content } of uploads) {
    const target = `${application}attachments/?name=${encodeURIComponent(name)}`;
    ids.push((await remote.request<{ id: string }>('POST', target, content, contentType)).id);
  }
  const answer = await remote.request<{ occurrence: string }>('POST', `${path}trigger/`, withAttachments(body, ids));
  return answer.occurrence;
}

async function readUpload(file: string) {
  const content = await readFile(file).catch(error => {
    throw usageError(`--attach: cannot read ${file} (${(error as NodeJS.ErrnoException).code})`);
  });
  return { name: basename(file), contentType: detectMimeType(file), content };
}

function withAttachments(body: Body, ids: readonly string[]): Body {
  if (ids.length === 0) return body;
  const attachments = [...(body.options?.attachments ?? []), ...ids.map(id => ({ id }))];
  return { ...body, options: { ...body.options, attachments } };
}
