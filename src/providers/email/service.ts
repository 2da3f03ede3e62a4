/** What email services with an HTTP API have in common: such a provider describes only how its service differs. */
import type { Static, TObject } from 'typebox';
import { type FormField, type JsonFile, jsonFiles, toForm, withFiles } from '../http-files.ts';
import { type HttpSend, sendHttp } from '../http-outcome.ts';
import type { Provider } from '../provider.ts';
import { httpSender, type Outgoing } from '../sending.ts';
import * as email from './message.ts';

/** A message as most services need it. Texts that are absent must not be sent. */
export interface Mail {
  outgoing: Outgoing;
  from: email.Mailbox;
  replyTo: email.Mailbox | undefined;
  subject: string;
  text?: string;
  html?: string;
  headers: Record<string, string>;
  /** With angle brackets. */
  messageId: string;
}

interface EmailService<S extends TObject>
  extends Pick<Provider<S>, 'name' | 'title' | 'summary' | 'settings' | 'credential'>,
    Pick<HttpSend, 'id' | 'errorText' | 'classify'> {
  dedupes?: true;
  /** The default. */
  endpoint(settings: Static<S>): string;
  authorize(settings: Static<S>): Pick<HttpSend, 'headers' | 'secrets'>;
  path(settings: Static<S>): string;
  /** What a valid credential may read. */
  check?: Pick<HttpSend, 'classify'> & { path: string };
  /** The first character of what the service replaces in every message. */
  variable?: RegExp;
  /** Headers of the request besides those of `authorize`. */
  headers?(outgoing: Outgoing): Record<string, string>;
  /** The body, either as JSON or as a form. */
  json?(mail: Mail & { files: JsonFile[] }, settings: Static<S>): object;
  form?(mail: Mail, settings: Static<S>): FormField[];
}

/** The settings of every service, after its own. */
export function serviceSettings(defaultEndpoint: string, webhookSecret = email.webhookCredentials) {
  return {
    from: email.From,
    reply_to: email.ReplyTo,
    endpoint: email.endpoint(defaultEndpoint),
    webhook_secret: webhookSecret,
    timeout_ms: email.TimeoutMs,
  };
}

type CommonSettings = Static<TObject<ReturnType<typeof serviceSettings>>>;

export function emailService<S extends TObject>(service: EmailService<S>): Provider<S> {
  const { name, title, summary, settings, credential, dedupes, check, id, errorText, classify } = service;
  const api = (options: Static<S>, path: string) => {
    const { endpoint = service.endpoint(options), timeout_ms } = options as CommonSettings;
    return { ...service.authorize(options), url: email.join(endpoint, path), timeoutMs: timeout_ms, errorText };
  };
  return {
    name,
    title,
    medium: 'email',
    summary,
    settings,
    ...(credential && { credential }),
    ...(dedupes && { dedupes }),
    attaches: true,
    feedback: options => ({ service: name, secret: (options as CommonSettings).webhook_secret }),
    ...(check && {
      check: (options, { outbound }) =>
        sendHttp(outbound, { ...api(options, check.path), method: 'GET', classify: check.classify }),
    }),
    open(options, { outbound }) {
      const { from, reply_to } = options as CommonSettings;
      const [sender, replyTo] = [email.toMailbox(from), reply_to ? email.toMailbox(reply_to) : undefined];
      const request = { ...api(options, service.path(options)), id, classify };
      return httpSender(async outgoing => {
        const mail: Mail = {
          outgoing,
          from: sender,
          replyTo,
          ...email.withoutVariables(outgoing, service.variable),
          headers: email.headersOf(outgoing, sender),
          messageId: `<${email.messageId(outgoing, sender)}>`,
        };
        const { contentType, body } = service.form
          ? toForm(service.form(mail, options))
          : await toJson(outgoing, files => service.json!({ ...mail, files }, options));
        const headers = { ...request.headers, 'content-type': contentType, ...service.headers?.(outgoing) };
        return sendHttp(outbound, { ...request, headers, body });
      });
    },
  };
}

async function toJson(outgoing: Outgoing, toBody: (files: JsonFile[]) => object) {
  const files = await jsonFiles(outgoing);
  return { contentType: 'application/json', body: withFiles(JSON.stringify(toBody(files)), files) };
}

/** Returns a field that lists files, or none: services may refuse an empty list. */
export function listFiles(field: string, files: readonly JsonFile[], toEntry: (file: JsonFile) => object): object {
  return files.length > 0 ? { [field]: files.map(toEntry) } : {};
}

/** Splits files into images of the body and others, for services that list them apart. */
export function splitFiles(files: readonly JsonFile[]): { images: JsonFile[]; others: JsonFile[] } {
  const { images = [], others = [] } = Object.groupBy(files, file =>
    file.contentId === undefined ? 'others' : 'images',
  );
  return { images, others };
}

/** Returns a file as several services write it. */
export function toDisposedFile({ name, contentType, contentId, content }: JsonFile): object {
  const disposition = contentId === undefined ? 'attachment' : 'inline';
  return { content, type: contentType, filename: name, disposition, content_id: contentId };
}
