/** Describes the organizations of a scenario, with their channels, recipients and events. */

export interface TenantOptions {
  /** The channel of the messages. Default: webhooks to the sink. */
  channel?: string;
  /** How long the service waits for the sink. By default a minute, as a busy machine must not cause duplicates. */
  timeoutMs?: number;
  /** Changes to the notification of the event `go`, such as its steps. */
  notification?: Record<string, unknown>;
  /** Further channels, or replacements of the channels with the same slug. The sink has two origins. */
  channels?: (sinkUrl: string, otherSinkUrl: string) => Channel[];
  /** Further events by slug, with the changes to their notifications. */
  events?: Record<string, Record<string, unknown>>;
  /** Endpoints of operational webhooks. */
  webhooks?: (sinkUrl: string) => Record<string, unknown>[];
  /** When occurrences wait for an approval. By default none does: large fan-outs have no history. */
  guard?: Record<string, unknown>;
  /** More fields of each user, such as addresses. */
  describeUser?: (index: number) => object;
  /** Sources of alerts. */
  sources?: readonly object[];
  /** Who is on call. */
  schedules?: readonly object[];
  /** Members of further lists, by name. */
  lists?: Readonly<Record<string, readonly string[]>>;
  /** Further organizations with the same recipients and events; their webhooks go to `/hook/SLUG` of the second origin. */
  organizations?: readonly string[];
}

export interface Channel extends Record<string, unknown> {
  slug: string;
}

export const webhookSecret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';

/** Describes a channel that sends to these URLs: the first that works gets the message. */
export function webhookChannel(slug: string, urls: string[], timeout_ms = 60_000): Channel {
  const providers = urls.map(url => ({ use: 'standard-webhooks', url, secret: webhookSecret, timeout_ms }));
  return { slug, name: slug, type: 'webhook', providers };
}

export function describeTenants(
  recipients: readonly string[],
  sinkUrls: readonly [string, string],
  { organizations = [], ...options }: TenantOptions,
): object {
  const [sinkUrl, otherSinkUrl] = sinkUrls;
  const first = describeTenant('chaos', recipients, sinkUrls, options);
  const others = organizations.map(slug => describeTenant(slug, recipients, [otherSinkUrl, sinkUrl], options));
  return { organizations: [first, ...others] };
}

function describeTenant(
  slug: string,
  recipients: readonly string[],
  [sinkUrl, otherSinkUrl]: readonly [string, string],
  {
    channel = 'hooks',
    timeoutMs,
    notification = {},
    events = {},
    sources,
    schedules,
    lists = {},
    describeUser,
    ...more
  }: Omit<TenantOptions, 'organizations'>,
): object {
  const app: Channel = { slug: 'app', name: 'In the app', type: 'inbox', providers: [{ use: 'inbox' }] };
  const path = slug === 'chaos' ? '/hook' : `/hook/${slug}`;
  const base = [webhookChannel('hooks', [`${sinkUrl}${path}`], timeoutMs), app];
  const own = more.channels?.(sinkUrl, otherSinkUrl) ?? [];
  const channels = [...base.filter(({ slug }) => own.every(each => each.slug !== slug)), ...own];
  const applications = [
    {
      slug: 'web',
      name: 'Web',
      ...(sources && { sources }),
      events: Object.entries({ go: notification, ...events }).map(([slug, changes]) => ({
        slug,
        name: slug,
        notifications: [describeNotification(channel, changes)],
      })),
    },
  ];
  const distribution_lists = Object.entries({ All: recipients, ...lists }).map(([name, members]) => ({
    name,
    members,
  }));
  const projects = [{ slug: 'shop', name: 'Shop', distribution_lists, ...(schedules && { schedules }), applications }];
  const users = recipients.map((email, i) => ({ email, ...describeUser?.(i) }));
  const webhooks = more.webhooks?.(sinkUrl);
  const { guard = { audience: 'off' } } = more;
  return { slug, name: slug, guard, channels, users, projects, ...(webhooks && { webhooks }) };
}

function describeNotification(channel: string, changes: Record<string, unknown>): object {
  return {
    name: 'all',
    recipients: { list: 'All' },
    ...(!changes.steps && { channels: [channel] }),
    message: { subject: '{{ user.email }}', body: 'Hello {{ n }}' },
    ...changes,
  };
}
