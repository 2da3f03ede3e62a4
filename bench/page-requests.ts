/** The requests of each console page: see console/src/pages. */
import type pg from 'pg';

export interface Visit {
  address: string;
  cookie: string;
}

export interface PageRequest {
  page: string;
  what: string;
  path: string;
}

const org = '/api/o/bench';
const page = 'limit=50';

export async function pageRequests(visit: Visit, sql: pg.Client): Promise<PageRequest[]> {
  const found = await findSamples(sql);
  /** Page size for deep pages; proportionally smaller in a smaller database. */
  const size = Math.min(1_000, Math.ceil(found.huge.size / 500));
  const far = (path: string, thousands: number) => deep(visit, path, thousands, size);
  const { project, application, event, usual, busy, former, list, huge, odd, small, sandboxed, layout } = found;
  const prj = `${org}/p/${project}`;
  const evt = `${prj}/a/${application}/e/${event}`;
  const one = `${evt}/n/${found.notification}`;
  const members = `${org}/p/${list.project}/d/${list.id}`;
  const middling = `${org}/p/${list.project}/d/${list.middling}`;
  const occurrence = `${org}/occurrence/${huge.id}`;
  const deliveries = `${occurrence}/deliveries/`;
  const person = (name: string) => `${org}/u/${encodeURIComponent(name)}`;
  const daysAgo = (days: number) => encodeURIComponent(new Date(Date.now() - days * 86_400_000).toISOString());
  const all: Record<string, [string, string][]> = {
    'every page': [
      ['session', '/api/session/'],
      ['sign-in options', '/api/session/options/'],
      ['organizations', '/api/o/'],
      ['organization', `${org}/`],
      ['projects', `${org}/p/`],
    ],
    account: [
      ['own sessions', '/api/sessions/'],
      ['second factors', '/api/session/two-factor/'],
    ],
    limits: [['limits and usage', `${org}/limits/`]],
    categories: [
      ['all', `${org}/categories/`],
      ['all events', `${org}/event/?${page}`],
      ['events of one category', `${org}/event/?${page}&category=general`],
    ],
    webhooks: [['all', `${org}/webhooks/`]],
    incidents: [
      ['open', `${org}/incidents/?${page}`],
      ['resolved', `${org}/incidents/?${page}&status=resolved`],
      ['summary', `${org}/incidents/summary/`],
    ],
    approvals: [['held', `${org}/holds/?${page}`]],
    'alerts and on call': [
      ['sources', `${org}/sources/`],
      ['sources of an application', `${prj}/a/${application}/sources/`],
      ['heartbeats', `${org}/heartbeats/`],
      ['heartbeats of an application', `${prj}/a/${application}/heartbeats/`],
      ['watches of an application', `${prj}/a/${application}/watches/`],
      ['service levels', `${org}/service-levels/?days=90`],
      ['silences', `${org}/silences/?${page}`],
      ['schedules', `${prj}/schedules/`],
      ['who is on call', `${org}/on-call/`],
      ['gaps', `${org}/on-call/gaps/`],
      ['report', `${org}/on-call/report/?since=${daysAgo(28)}&until=${daysAgo(0)}`],
      ['own user', `${org}/me/`],
    ],
    palette: [
      ['channels of the organization', `${org}/c/`],
      ['channels of a project', `${prj}/c/`],
      ['applications', `${prj}/a/`],
      ['events of an application', `${prj}/a/${application}/e/`],
      ['statistics of its events', `${prj}/a/${application}/stats/`],
      ['users, two letters', `${org}/u/?search=an&limit=6`],
      ['users, rare', `${org}/u/?search=quix&limit=6`],
      ['occurrences by identifier', `${org}/occurrence/?search=${huge.id.slice(0, 13)}&limit=6`],
      ['occurrences, none', `${org}/occurrence/?search=ffff&limit=6`],
    ],
    overview: [
      ['24 hours', `${org}/stats/?hours=24`],
      ['7 days', `${org}/stats/?hours=168`],
      ['30 days', `${org}/stats/?hours=720`],
      ['90 days', `${org}/stats/?hours=2160`],
      ['pauses', `${org}/pauses/`],
      ['escalations', `${org}/escalations/`],
      ['causes of failures', `${org}/failures/causes/`],
      ['failures', `${org}/failures/?limit=10`],
      ['failures, deep', await far(`${org}/failures/?limit=10`, 30)],
      ['the last occurrence', `${org}/occurrence/?limit=1`],
      ['unacknowledged', `${org}/occurrence/?unacknowledged=true&limit=10`],
    ],
    occurrences: [
      ['newest', `${org}/occurrence/?${page}`],
      ['deep', await far(`${org}/occurrence/?${page}`, 40)],
      ['completed', `${org}/occurrence/?${page}&status=completed`],
      ['sending', `${org}/occurrence/?${page}&status=sending`],
      ['accepted', `${org}/occurrence/?${page}&status=accepted`],
      ['expanding: none', `${org}/occurrence/?${page}&status=expanding`],
      ...[
        'sent',
        'failed',
        'partly_failed',
        'no_recipients',
        'scheduled',
        'held',
        'expanding',
        'sending',
        'expired',
      ].map((outcome): [string, string] => [`outcome ${outcome}`, `${org}/occurrence/?${page}&outcome=${outcome}`]),
      ['a project', `${org}/occurrence/?${page}&project=${project}`],
      ['an unused project', `${org}/occurrence/?${page}&project=unused`],
      ['an application', `${org}/occurrence/?${page}&project=${project}&application=${application}`],
      ['a common event', `${org}/occurrence/?${page}&project=${project}&application=${application}&event=${event}`],
      [
        'a rare event',
        `${org}/occurrence/?${page}&project=${odd.project}&application=${odd.application}&event=${odd.event}`,
      ],
      [
        'a rare event and a status',
        `${org}/occurrence/?${page}&project=${odd.project}&application=${odd.application}&event=${odd.event}&status=sending`,
      ],
      ['a nonexistent event', `${org}/occurrence/?${page}&event=nowhere`],
      ['the last day', `${org}/occurrence/?${page}&since=${daysAgo(1)}`],
      ['until a month ago', `${org}/occurrence/?${page}&until=${daysAgo(30)}`],
      ['a project, the last day', `${org}/occurrence/?${page}&project=${odd.project}&since=${daysAgo(1)}`],
      ['by correlation id', `${org}/occurrence/?${page}&search=${found.correlation}`],
      ['by correlation id: none', `${org}/occurrence/?${page}&search=nothing-like-it`],
      ['by identifier', `${org}/occurrence/?${page}&search=${huge.id}`],
    ],
    occurrence: [
      ['itself', `${occurrence}/`],
      ['steps', `${occurrence}/steps/`],
      ['responses', `${occurrence}/responses/`],
      ['alerts', `${occurrence}/alerts/`],
      ['requests to the senders of its alerts', `${occurrence}/source-updates/`],
      ['attachments', `${occurrence}/attachments/`],
      [`deliveries of ${huge.size}`, `${deliveries}?${page}`],
      ['deliveries, deep', await far(`${deliveries}?${page}`, 300)],
      ['deliveries, sent', `${deliveries}?${page}&status=sent`],
      ['deliveries, failed', `${deliveries}?${page}&status=failed`],
      ['deliveries, failed, deep', await far(`${deliveries}?${page}&status=failed`, 4)],
      ['deliveries, unknown', `${deliveries}?${page}&status=unknown`],
      ['deliveries, pending: none', `${deliveries}?${page}&status=pending`],
      ['deliveries, expired: none', `${deliveries}?${page}&status=expired`],
      ['deliveries of a user', `${deliveries}?${page}&user=${encodeURIComponent(huge.user)}`],
      ['deliveries of the last user', `${deliveries}?${page}&user=${encodeURIComponent(huge.lastUser)}`],
      ['deliveries of another user: none', `${deliveries}?${page}&user=${encodeURIComponent(huge.nonRecipient)}`],
      ['deliveries of an unknown user', `${deliveries}?${page}&user=nobody@nowhere.test`],
      ['deliveries by its channel', `${deliveries}?${page}&channel=${huge.channel}`],
      ['deliveries by another channel: none', `${deliveries}?${page}&channel=sandbox`],
      ['deliveries by an unknown channel', `${deliveries}?${page}&channel=nowhere`],
      ['deliveries, failed, of a user', `${deliveries}?${page}&status=failed&user=${encodeURIComponent(huge.user)}`],
      ['one delivery of a user', `${deliveries}?limit=200&user=${encodeURIComponent(huge.user)}`],
      ['deliveries, attention first', `${deliveries}?${page}&order=attention`],
      ['deliveries, suppressed by reason', `${occurrence}/suppressed/`],
      ['deliveries suppressed for one reason', `${deliveries}?${page}&status=suppressed&reason=user.locked`],
      ['pauses', `${occurrence}/pauses/`],
      ['what a replay would do', `${occurrence}/replay/`],
      ['one delivery', `${deliveries}${huge.delivery}/`],
      ['what a retry would do', `${deliveries}${huge.delivery}/retry/`],
      ['message', `${deliveries}${huge.delivery}/message/`],
      ['why, a recipient', `${occurrence}/why/?user=${encodeURIComponent(huge.user)}`],
      ['why, not a recipient', `${occurrence}/why/?user=${encodeURIComponent(huge.nonRecipient)}`],
      ['why, by phone', `${occurrence}/why/?user=${encodeURIComponent(found.phone)}`],
      ['why, unknown user', `${occurrence}/why/?user=nobody@nowhere.test`],
      ['why, the busiest user', `${org}/occurrence/${small}/why/?user=${encodeURIComponent(busy)}`],
    ],
    activity: [
      ['newest', `${org}/activity/?${page}`],
      ['deep', await far(`${org}/activity/?${page}`, 100)],
      ['failed', `${org}/activity/?${page}&status=failed`],
      ['retrying', `${org}/activity/?${page}&status=retrying`],
      ['sent', `${org}/activity/?${page}&status=sent`],
      ['expired', `${org}/activity/?${page}&status=expired`],
      ['by a channel', `${org}/activity/?${page}&channel=mail`],
      ['by a rare channel', `${org}/activity/?${page}&channel=sandbox`],
      ['by a type', `${org}/activity/?${page}&type=email`],
      ['failed by a channel', `${org}/activity/?${page}&channel=mail&status=failed`],
      ['of a user', `${org}/activity/?${page}&user=${encodeURIComponent(usual)}`],
      ['of the busiest, failed', `${org}/activity/?${page}&user=${encodeURIComponent(busy)}&status=failed`],
      ['of an unknown user', `${org}/activity/?${page}&user=nobody@nowhere.test`],
      ['the last day', `${org}/activity/?${page}&since=${daysAgo(1)}`],
      ['a day long ago', `${org}/activity/?${page}&since=${daysAgo(60)}&until=${daysAgo(59)}`],
    ],
    people: [
      ['first', `${org}/u/?${page}`],
      ['deep', await far(`${org}/u/?${page}`, 300)],
      ['one letter', `${org}/u/?${page}&search=a`],
      ['by name', `${org}/u/?${page}&order=name`],
      ['by name, deep', await far(`${org}/u/?${page}&order=name`, 300)],
      ['locked', `${org}/u/?${page}&locked=true`],
      ['common name', `${org}/u/?${page}&search=ann`],
      ['common name, deep', await far(`${org}/u/?${page}&search=ann`, 30)],
      ['rare name', `${org}/u/?${page}&search=quixote`],
      ['two words', `${org}/u/?${page}&search=ann%20mar`],
      ['two words, letters', `${org}/u/?${page}&search=a%20z`],
      ['two words, reversed', `${org}/u/?${page}&search=zim%20ann`],
      ['two words, rare', `${org}/u/?${page}&search=ann%20quix`],
      ['two words: no match', `${org}/u/?${page}&search=ann%20zzz`],
      ['no match', `${org}/u/?${page}&search=zzzz`],
      ['email', `${org}/u/?${page}&search=${encodeURIComponent(usual)}`],
    ],
    suppressions: [
      ['newest', `${org}/suppressions/?${page}`],
      ['deep', await far(`${org}/suppressions/?${page}`, 30)],
      ['complaints', `${org}/suppressions/?${page}&reason=complained`],
      ['of a type: none', `${org}/suppressions/?${page}&channel_type=sms`],
      ['by address', `${org}/suppressions/?${page}&search=gone1%40`],
      ['one', `${org}/suppressions/${found.suppression}/`],
    ],
    person: [
      ['user', `${person(usual)}/`],
      ['profile', `${person(usual)}/profile/`],
      ['addresses', `${person(usual)}/addresses/?${page}`],
      ['addresses as specified', `${person(usual)}/address/`],
      ['absences', `${person(usual)}/absences/?${page}`],
      ['calendars of absences', `${person(usual)}/absence-calendars/?${page}`],
      ['calendar', `${person(usual)}/calendar/`],
      ['test page', `${person(usual)}/test-page/`],
      ['memberships', `${person(usual)}/memberships/?${page}`],
      ['registrations', `${person(usual)}/registrations/?${page}`],
      ['history', `${person(usual)}/deliveries/?${page}`],
      ['history of the busiest', `${person(busy)}/deliveries/?${page}`],
      ['history of the busiest, deep', await far(`${person(busy)}/deliveries/?${page}`, 15)],
      ['history of one busy long ago', `${person(former)}/deliveries/?${page}`],
      ['preferences', `${person(usual)}/preferences/`],
      ['preferences by category', `${person(usual)}/preferences/effective/categories/`],
      ['effective preferences', `${person(usual)}/preferences/effective/?category=general`],
      ['history of preferences', `${person(usual)}/preferences/history/?${page}`],
      ['inbox', `${person(usual)}/inbox/?${page}`],
      ['unread', `${person(usual)}/inbox/unread/`],
      ['counts of the inbox', `${person(usual)}/inbox/counts/`],
    ],
    lists: [
      ['lists of a project', `${org}/p/${list.project}/d/?${page}`],
      ['list', `${members}/`],
      ['count', `${members}/count/`],
      [`members of ${list.size}`, `${members}/members/?${page}`],
      ['members, deep', await far(`${members}/members/?${page}`, 300)],
      ['members as specified', `${members}/m/?${page}`],
      ['export, its first bytes', `${members}/export/`],
      ['members, common name', `${members}/members/?${page}&search=ann`],
      ['members, common name, deep', await far(`${members}/members/?${page}&search=ann`, 20)],
      ['members, rare name', `${members}/members/?${page}&search=quixote`],
      ['members, two words', `${members}/members/?${page}&search=ann%20mar`],
      ['members: no match', `${members}/members/?${page}&search=zzzz`],
      ['members of a middling list, common name', `${middling}/members/?${page}&search=ann`],
      ['members of a middling list, common name, deep', await far(`${middling}/members/?${page}&search=ann`, 5)],
      ['members of a middling list, rare name', `${middling}/members/?${page}&search=quixote`],
      ['members of a small list, common name', `${org}/p/${list.project}/d/${list.small}/members/?${page}&search=ann`],
      ['members of a small list, one letter', `${org}/p/${list.project}/d/${list.small}/members/?${page}&search=a`],
      ['members of a small list, two words', `${org}/p/${list.project}/d/${list.small}/members/?${page}&search=a%20z`],
    ],
    events: [
      ['project', `${prj}/`],
      ['application', `${prj}/a/${application}/`],
      ['events', `${prj}/a/${application}/e/?${page}`],
      ['event', `${evt}/`],
      ['notifications', `${evt}/n/`],
      ['waiting messages', `${evt}/waiting/`],
      ['open digests', `${evt}/digests/?limit=10`],
      ['notification', `${one}/`],
      ['versions', `${one}/versions/?${page}`],
      ['version', `${one}/versions/1/`],
    ],
    layouts: [
      ['of the organization', `${org}/l/`],
      ['of a project', `${prj}/l/`],
      ['layout', `${org}/l/${layout.own}/`],
      ['versions', `${org}/l/${layout.own}/versions/?${page}`],
      ['version', `${org}/l/${layout.own}/versions/1/`],
      ['layout of a project', `${org}/p/${layout.project}/l/${layout.id}/`],
      ['versions of one of a project', `${org}/p/${layout.project}/l/${layout.id}/versions/?${page}`],
      ['version of one of a project', `${org}/p/${layout.project}/l/${layout.id}/versions/1/`],
    ],
    channels: [
      ['all, with details', `${org}/channel/`],
      ['of the organization', `${org}/c/?${page}`],
      ['of a project', `${prj}/c/?${page}`],
      ['channel', `${org}/c/mail/`],
      ['channel of a project', `${org}/p/project-1/c/own-1/`],
      ['providers', `${org}/provider/`],
    ],
    sandbox: [
      ['newest', `${org}/sandbox/?${page}`],
      ['deep', await far(`${org}/sandbox/?${page}`, 20)],
      ['message', `${org}/occurrence/${sandboxed.occurrence}/deliveries/${sandboxed.id}/message/`],
      ['attempts', `${org}/occurrence/${sandboxed.occurrence}/deliveries/${sandboxed.id}/attempts/`],
      ['updates', `${org}/occurrence/${sandboxed.occurrence}/deliveries/${sandboxed.id}/updates/`],
      ['feedback', `${org}/occurrence/${sandboxed.occurrence}/deliveries/${sandboxed.id}/feedback/`],
    ],
    audit: [
      ['newest', `${org}/audit/?${page}`],
      ['deep', await far(`${org}/audit/?${page}`, 150)],
      ['noun', `${org}/audit/?${page}&noun=channel`],
      ['rare noun', `${org}/audit/?${page}&noun=layout`],
      ['noun: none', `${org}/audit/?${page}&noun=invite`],
      ['actor', `${org}/audit/?${page}&actor=colleague3%40x.test`],
      ['rare actor', `${org}/audit/?${page}&actor=rare%40x.test`],
      ['actor: no match', `${org}/audit/?${page}&actor=nobody%40x.test`],
      ['actor and noun', `${org}/audit/?${page}&actor=rare%40x.test&noun=user`],
      ['path', `${org}/audit/?${page}&path=project-3%2Fapp-3`],
      ['path: none', `${org}/audit/?${page}&path=nowhere`],
      ['the last hour', `${org}/audit/?${page}&since=${daysAgo(1 / 24)}`],
      ['until long ago', `${org}/audit/?${page}&until=${daysAgo(299)}`],
      ['one day long ago', `${org}/audit/?${page}&since=${daysAgo(290)}&until=${daysAgo(289)}`],
    ],
    'keys, team and settings': [
      ['keys', `${org}/k/`],
      ['key', `${org}/k/${found.key}/`],
      ['accounts', `${org}/account/?${page}`],
      ['invites', `${org}/invite/?${page}`],
      ['settings', `${org}/settings/`],
    ],
  };
  return Object.entries(all).flatMap(([name, requests]) =>
    requests.map(([what, path]) => ({ page: name, what, path })),
  );
}

/** Returns the path of the same list after this many pages, or of its last page. */
async function deep({ address, cookie }: Visit, path: string, pages: number, size: number): Promise<string> {
  const reached = new URL(address + path);
  const walking = new URL(reached);
  walking.searchParams.set('limit', String(size));
  for (let i = 0; i < pages; i++) {
    const answer = await fetch(walking, { headers: { cookie } });
    if (answer.status !== 200) throw new Error(`${walking}: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
    const next = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
    if (!next) break;
    const cursor = new URL(next).searchParams.get('cursor')!;
    for (const url of [reached, walking]) url.searchParams.set('cursor', cursor);
  }
  // In a quick run with a hundredth of the data, some lists have only one page.
  return reached.pathname + reached.search;
}

async function findSamples(sql: pg.Client) {
  const first = async <T extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<T> => {
    const { rows } = await sql.query<T>(text, values);
    if (!rows[0]) throw new Error(`no rows found by: ${text}`);
    return rows[0];
  };
  const { id: organization } = await first<{ id: number }>(`select id from organizations where slug = 'bench'`);
  const eventPaths = `
    select p.slug as project, a.slug as application, e.slug as event, e.id
    from events e join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    join (select event_id, count(*) as times from occurrences where organization_id = $1 group by 1) o on o.event_id = e.id
    where e.organization_id = $1`;
  const usual = await first<{ project: string; application: string; event: string; id: number }>(
    `${eventPaths} order by o.times desc, e.id limit 1`,
    [organization],
  );
  const odd = await first<{ project: string; application: string; event: string }>(
    `${eventPaths} order by o.times, e.id limit 1`,
    [organization],
  );
  const huge = await first<{ id: string; size: number }>(
    `select id, deliveries as size from occurrences where organization_id = $1 order by deliveries desc limit 1`,
    [organization],
  );
  const within = `
    select u.username, d.id, c.slug as channel from deliveries d
    join users u on u.organization_id = d.organization_id and u.id = d.user_id
    join channels c on c.organization_id = d.organization_id and c.id = d.channel_id
    where d.organization_id = $1 and d.occurrence_id = $2`;
  type Within = { username: string; id: number; channel: string };
  const middle = await first<Within>(
    `${within} and d.status = 'sent' order by d.id offset ${Math.floor(huge.size / 2)} limit 1`,
    [organization, huge.id],
  );
  const last = await first<Within>(`${within} order by d.id desc limit 1`, [organization, huge.id]);
  const nonRecipient = await first<{ username: string; value: string }>(
    `select u.username, a.value from users u
     join addresses a on a.organization_id = u.organization_id and a.user_id = u.id and a.name = 'phone'
     where u.organization_id = $1 and not exists (
       select from deliveries d where d.organization_id = $1 and d.occurrence_id = $2 and d.user_id = u.id)
     order by u.id desc limit 1`,
    [organization, huge.id],
  );
  const oldest = `select username from users where organization_id = $1 order by id limit 1`;
  const busy = await first<{ username: string }>(oldest, [organization]);
  const former = await first<{ username: string }>(`${oldest} offset 1`, [organization]);
  const small = await first<{ id: string }>(
    `select id from occurrences where organization_id = $1 and deliveries between 2 and 100 and status = 'completed' order by id desc limit 1`,
    [organization],
  );
  const list = await first<{ id: number; project: string; size: number; small: number; middling: number }>(
    `select l.id, p.slug as project, l.members as size, (
       select s.id from distribution_lists s where s.organization_id = l.organization_id
         and s.project_id = l.project_id order by s.members limit 1) as small, (
       select s.id from distribution_lists s where s.organization_id = l.organization_id
         and s.project_id = l.project_id order by s.members desc offset 1 limit 1) as middling
     from distribution_lists l join projects p on p.organization_id = l.organization_id and p.id = l.project_id
     where l.organization_id = $1 order by l.members desc limit 1`,
    [organization],
  );
  const sandboxed = await first<{ occurrence: string; id: number }>(
    `select occurrence_id as occurrence, id from deliveries
     where organization_id = $1 and provider = 'sandbox' order by occurrence_id desc limit 1`,
    [organization],
  );
  const layout = await first<{ own: number; id: number; project: string }>(
    `select (select max(id) from layouts where organization_id = $1 and project_id is null) as own, l.id, p.slug as project
     from layouts l join projects p on p.organization_id = l.organization_id and p.id = l.project_id
     where l.organization_id = $1 limit 1`,
    [organization],
  );
  const { notification } = await first<{ notification: number }>(
    `select id as notification from notifications where organization_id = $1 and event_id = $2 limit 1`,
    [organization, usual.id],
  );
  const { key } = await first<{ key: string }>(`select id as key from keys where organization_id = $1 limit 1`, [
    organization,
  ]);
  const { correlation } = await first<{ correlation: string }>(
    `select correlation_id as correlation from occurrences where organization_id = $1 and correlation_id is not null limit 1`,
    [organization],
  );
  const { suppression } = await first<{ suppression: number }>(
    `select id as suppression from suppressions where organization_id = $1 limit 1`,
    [organization],
  );
  return {
    ...usual,
    notification,
    key,
    suppression,
    odd,
    huge: {
      ...huge,
      user: middle.username,
      delivery: middle.id,
      channel: middle.channel,
      lastUser: last.username,
      nonRecipient: nonRecipient.username,
    },
    usual: middle.username,
    busy: busy.username,
    former: former.username,
    phone: nonRecipient.value,
    small: small.id,
    list,
    sandboxed,
    layout,
    correlation,
  };
}
