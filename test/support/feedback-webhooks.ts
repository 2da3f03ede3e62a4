/** Webhooks as each service sends them, and what they mean. */

export const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

/** The same fields as `multipart/form-data`. */
export const multipart = (fields: Record<string, string>) =>
  `${Object.entries(fields)
    .map(([name, value]) => `--limit\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
    .join('')}--limit--\r\n`;

export const jane = 'jane@acme.test';
export const unknown = '550 5.1.1 <jane@acme.test>: Recipient address rejected: User unknown';
export const seconds = 1_772_532_000;
export const at = '2026-03-03T10:00:00.000Z';

/** Wraps an event as Amazon SNS sends it. */
export const sns = (event: object) => ({
  Type: 'Notification',
  Timestamp: '2026-03-03T10:00:01.000Z',
  Message: JSON.stringify({ ...event, mail: { messageId: 'm-1', destination: [jane], tags: { belfry_id: ['d-1'] } } }),
});
export const sendgrid = (fields: object) => [
  { email: jane, timestamp: seconds, 'smtp-id': '<m-1@acme.test>', belfry_id: 'd-1', ...fields },
];
export const mailgun = (fields: object) => ({
  'event-data': {
    recipient: jane,
    timestamp: seconds + 0.5,
    message: { headers: { 'message-id': 'm-1@acme.test' } },
    'user-variables': { belfry_id: 'd-1' },
    ...fields,
  },
});
export const postmark = (fields: object) => ({
  MessageID: 'm-1',
  Recipient: jane,
  Metadata: { belfry_id: 'd-1' },
  ReceivedAt: at,
  ...fields,
});
export const resend = (type: string, fields: object = {}) => ({
  type,
  created_at: at,
  data: { email_id: 'm-1', to: [jane], ...fields },
});
export const brevo = (event: string, fields: object = {}) => ({
  event,
  email: jane,
  'message-id': '<m-1@acme.test>',
  ts_epoch: seconds * 1_000,
  ...fields,
});
export const sparkpost = (kind: string, fields: object) => [
  {
    msys: {
      [kind]: {
        rcpt_to: jane,
        transmission_id: 'm-1',
        timestamp: String(seconds),
        rcpt_meta: { belfry_id: 'd-1' },
        ...fields,
      },
    },
  },
];
export const mailjet = (fields: object) => [
  { email: jane, time: seconds, MessageID: 19_703, CustomID: 'd-1', ...fields },
];
export const mailersend = (type: string, morph: object = {}) => ({
  type: `activity.${type}`,
  data: { type, created_at: at, email: { message: { id: 'm-1' }, recipient: { email: jane } }, morph },
});
export const mandrill = (event: string, fields: object = {}) =>
  form({
    mandrill_events: JSON.stringify([
      { event, ts: seconds, msg: { email: jane, _id: 'm-1', metadata: { belfry_id: 'd-1' }, ...fields } },
    ]),
  });
export const mailtrap = (fields: object) => ({
  events: [{ email: jane, message_id: 'm-1', timestamp: seconds, custom_variables: { belfry_id: 'd-1' }, ...fields }],
});
export const twilio = (fields: Record<string, string>) => form({ To: '+15005550006', MessageSid: 'SM1', ...fields });
export const whatsapp = (fields: object) => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      id: '1',
      changes: [
        {
          field: 'messages',
          value: {
            messaging_product: 'whatsapp',
            statuses: [
              {
                id: 'wamid.1',
                recipient_id: '15005550006',
                timestamp: String(seconds),
                biz_opaque_callback_data: 'd-1',
                ...fields,
              },
            ],
          },
        },
      ],
    },
  ],
});
export const vonage = (fields: object) => ({
  message_uuid: 'u-1',
  to: '15005550006',
  timestamp: at,
  client_ref: 'd-1',
  ...fields,
});

/** `[service, body, [type, permanent, reason]]`; no outcome for what reports nothing. */
type Row = [service: string, body: unknown, outcome?: [type: string, permanent: boolean | null, reason: string | null]];

const is = (type: string): Row[2] => [type, null, null];

export const rows: Row[] = [
  [
    'ses',
    sns({
      eventType: 'Bounce',
      bounce: {
        bounceType: 'Permanent',
        bounceSubType: 'General',
        bouncedRecipients: [{ emailAddress: jane, diagnosticCode: unknown }],
      },
    }),
    ['bounced', true, 'unknown_user'],
  ],
  [
    'ses',
    sns({
      eventType: 'Bounce',
      bounce: { bounceType: 'Transient', bounceSubType: 'MailboxFull', bouncedRecipients: [{ emailAddress: jane }] },
    }),
    ['bounced', false, 'mailbox_full'],
  ],
  [
    'ses',
    sns({
      eventType: 'Bounce',
      bounce: {
        bounceType: 'Permanent',
        bounceSubType: 'OnAccountSuppressionList',
        bouncedRecipients: [{ emailAddress: jane }],
      },
    }),
    ['bounced', true, 'suppressed'],
  ],
  [
    'ses',
    sns({ notificationType: 'Complaint', complaint: { complainedRecipients: [{ emailAddress: jane }] } }),
    is('complained'),
  ],
  [
    'ses',
    sns({
      notificationType: 'Complaint',
      complaint: { complainedRecipients: [{ emailAddress: jane }], complaintFeedbackType: 'not-spam' },
    }),
  ],
  ['ses', sns({ notificationType: 'Delivery', delivery: { recipients: [jane] } }), is('delivered')],
  [
    'ses',
    sns({
      eventType: 'DeliveryDelay',
      deliveryDelay: { delayType: 'TransientCommunicationFailure', delayedRecipients: [{ emailAddress: jane }] },
    }),
    ['deferred', false, 'network'],
  ],
  ['ses', sns({ eventType: 'Reject', reject: { reason: 'Bad content' } }), ['bounced', false, 'content']],
  ['ses', sns({ eventType: 'Rendering Failure', failure: { errorMessage: 'x' } }), ['bounced', false, 'other']],
  ['ses', sns({ eventType: 'Open', open: {} }), is('opened')],
  ['ses', sns({ eventType: 'Click', click: {} }), is('clicked')],
  ['ses', sns({ eventType: 'Send', send: {} })],
  ['ses', { Type: 'SubscriptionConfirmation', Message: 'You have chosen to subscribe' }],
  ['ses', { Type: 'Notification', Message: 'Some text of another publisher' }],
  ['sendgrid', sendgrid({ event: 'bounce', type: 'bounce', reason: unknown }), ['bounced', true, 'unknown_user']],
  [
    'sendgrid',
    sendgrid({ event: 'bounce', type: 'blocked', reason: '550 5.7.1 blocked by spamhaus' }),
    ['bounced', false, 'blocked'],
  ],
  ['sendgrid', sendgrid({ event: 'dropped', reason: 'Bounced Address' }), ['bounced', true, 'suppressed']],
  ['sendgrid', sendgrid({ event: 'dropped', reason: 'Unsubscribed Address' }), ['bounced', false, 'suppressed']],
  ['sendgrid', sendgrid({ event: 'dropped', reason: 'Spam Content' }), ['bounced', false, 'content']],
  [
    'sendgrid',
    sendgrid({ event: 'deferred', response: '421 too many connections' }),
    ['deferred', false, 'rate_limited'],
  ],
  ['sendgrid', sendgrid({ event: 'delivered' }), is('delivered')],
  ['sendgrid', sendgrid({ event: 'spamreport' }), is('complained')],
  ['sendgrid', sendgrid({ event: 'group_unsubscribe' }), is('unsubscribed')],
  ['sendgrid', sendgrid({ event: 'open' }), is('opened')],
  ['sendgrid', sendgrid({ event: 'click' }), is('clicked')],
  ['sendgrid', sendgrid({ event: 'processed' })],
  [
    'mailgun',
    mailgun({
      event: 'failed',
      severity: 'permanent',
      reason: 'bounce',
      'delivery-status': { code: 550, message: unknown },
    }),
    ['bounced', true, 'unknown_user'],
  ],
  [
    'mailgun',
    mailgun({
      event: 'failed',
      severity: 'permanent',
      reason: 'generic',
      'delivery-status': { code: 554, message: '5.7.1 rejected by policy' },
    }),
    ['bounced', false, 'policy'],
  ],
  [
    'mailgun',
    mailgun({
      event: 'failed',
      severity: 'permanent',
      reason: 'suppress-bounce',
      'delivery-status': { code: 605, description: 'Not delivering to previously bounced address' },
    }),
    ['bounced', true, 'suppressed'],
  ],
  [
    'mailgun',
    mailgun({ event: 'failed', severity: 'permanent', reason: 'suppress-unsubscribe' }),
    ['bounced', false, 'suppressed'],
  ],
  [
    'mailgun',
    mailgun({ event: 'failed', severity: 'temporary', 'delivery-status': { code: 452, message: 'Mailbox full' } }),
    ['deferred', false, 'mailbox_full'],
  ],
  [
    'mailgun',
    mailgun({ event: 'rejected', reject: { reason: 'Sandbox domains are for tests' } }),
    ['bounced', false, 'other'],
  ],
  [
    'mailgun',
    mailgun({ event: 'bounced', 'delivery-status': { code: 550, message: '5.7.1 Access denied' } }),
    ['bounced', false, 'policy'],
  ],
  ['mailgun', mailgun({ event: 'delivered', 'delivery-status': null }), is('delivered')],
  ['mailgun', mailgun({ event: 'complained' }), is('complained')],
  ['mailgun', mailgun({ event: 'unsubscribed' }), is('unsubscribed')],
  ['mailgun', mailgun({ event: 'opened' }), is('opened')],
  ['mailgun', mailgun({ event: 'accepted' })],
  [
    'postmark',
    postmark({ RecordType: 'Bounce', Type: 'HardBounce', Email: jane, Details: unknown }),
    ['bounced', true, 'unknown_user'],
  ],
  [
    'postmark',
    postmark({ RecordType: 'Bounce', Type: 'HardBounce', Details: '552 mailbox is over quota' }),
    ['bounced', false, 'mailbox_full'],
  ],
  ['postmark', postmark({ RecordType: 'Bounce', Type: 'SoftBounce' }), ['bounced', false, 'other']],
  ['postmark', postmark({ RecordType: 'Bounce', Type: 'Transient' }), ['deferred', false, 'other']],
  ['postmark', postmark({ RecordType: 'Bounce', Type: 'DMARCPolicy' }), ['bounced', false, 'authentication']],
  ['postmark', postmark({ RecordType: 'Bounce', Type: 'AutoResponder' })],
  ['postmark', postmark({ RecordType: 'Delivery' }), is('delivered')],
  ['postmark', postmark({ RecordType: 'SpamComplaint' }), is('complained')],
  ['postmark', postmark({ RecordType: 'Open' }), is('opened')],
  ['postmark', postmark({ RecordType: 'Click' }), is('clicked')],
  [
    'postmark',
    postmark({ RecordType: 'SubscriptionChange', SuppressSending: true, SuppressionReason: 'ManualSuppression' }),
    is('unsubscribed'),
  ],
  [
    'postmark',
    postmark({ RecordType: 'SubscriptionChange', SuppressSending: true, SuppressionReason: 'HardBounce' }),
    ['bounced', true, 'suppressed'],
  ],
  ['postmark', postmark({ RecordType: 'SubscriptionChange', SuppressSending: false })],
  ['postmark', {}],
  [
    'resend',
    resend('email.bounced', { bounce: { type: 'Permanent', subType: 'General', message: unknown } }),
    ['bounced', true, 'unknown_user'],
  ],
  [
    'resend',
    resend('email.bounced', { bounce: { type: 'Transient', message: 'Mailbox full' } }),
    ['bounced', false, 'mailbox_full'],
  ],
  [
    'resend',
    resend('email.bounced', { bounce: { message: 'The provider sent a hard bounce message; mind your reputation.' } }),
    ['bounced', true, 'other'],
  ],
  ['resend', resend('email.suppressed', {}), ['bounced', true, 'suppressed']],
  ['resend', resend('email.failed', { failed: { reason: 'reached_daily_quota' } }), ['bounced', false, 'rate_limited']],
  ['resend', resend('email.delivery_delayed'), ['deferred', false, 'other']],
  ['resend', resend('email.delivered', { to: ['Jane <jane@acme.test>'] }), is('delivered')],
  ['resend', resend('email.complained'), is('complained')],
  ['resend', resend('email.opened'), is('opened')],
  ['resend', resend('email.clicked'), is('clicked')],
  ['resend', resend('email.sent')],
  ['brevo', brevo('hard_bounce', { reason: unknown }), ['bounced', true, 'unknown_user']],
  ['brevo', brevo('soft_bounce', { reason: 'mailbox full' }), ['bounced', false, 'mailbox_full']],
  ['brevo', brevo('invalid_email'), ['bounced', true, 'unknown_user']],
  ['brevo', brevo('blocked'), ['bounced', false, 'suppressed']],
  ['brevo', brevo('error'), ['bounced', false, 'other']],
  ['brevo', brevo('deferred', { reason: '421 try again in 5 minutes' }), ['deferred', false, 'rate_limited']],
  ['brevo', brevo('delivered'), is('delivered')],
  ['brevo', brevo('spam'), is('complained')],
  ['brevo', brevo('unsubscribed'), is('unsubscribed')],
  ['brevo', brevo('unique_proxy_open'), is('opened')],
  ['brevo', brevo('click'), is('clicked')],
  ['brevo', brevo('request')],
  ['brevo', [brevo('delivered')], is('delivered')],
  [
    'sparkpost',
    sparkpost('message_event', { type: 'bounce', bounce_class: '10', raw_reason: unknown }),
    ['bounced', true, 'unknown_user'],
  ],
  ['sparkpost', sparkpost('message_event', { type: 'bounce', bounce_class: '22' }), ['bounced', false, 'mailbox_full']],
  ['sparkpost', sparkpost('message_event', { type: 'out_of_band', bounce_class: '51' }), ['bounced', false, 'blocked']],
  ['sparkpost', sparkpost('message_event', { type: 'bounce', bounce_class: '60' })],
  ['sparkpost', sparkpost('message_event', { type: 'bounce', bounce_class: '90' }), is('unsubscribed')],
  ['sparkpost', sparkpost('message_event', { type: 'delay', bounce_class: '21' }), ['deferred', false, 'network']],
  [
    'sparkpost',
    sparkpost('message_event', { type: 'policy_rejection', reason: '550 5.7.1 Rejected by policy' }),
    ['bounced', false, 'policy'],
  ],
  ['sparkpost', sparkpost('gen_event', { type: 'generation_rejection' }), ['bounced', false, 'suppressed']],
  ['sparkpost', sparkpost('message_event', { type: 'delivery' }), is('delivered')],
  ['sparkpost', sparkpost('message_event', { type: 'spam_complaint' }), is('complained')],
  ['sparkpost', sparkpost('unsubscribe_event', { type: 'list_unsubscribe' }), is('unsubscribed')],
  ['sparkpost', sparkpost('track_event', { type: 'open' }), is('opened')],
  ['sparkpost', sparkpost('track_event', { type: 'initial_open' }), is('opened')],
  ['sparkpost', sparkpost('track_event', { type: 'amp_open' }), is('opened')],
  ['sparkpost', sparkpost('track_event', { type: 'amp_initial_open' }), is('opened')],
  ['sparkpost', sparkpost('track_event', { type: 'amp_click' }), is('clicked')],
  ['sparkpost', sparkpost('track_event', { type: 'click' }), is('clicked')],
  ['sparkpost', [{ msys: {} }]],
  [
    'mailjet',
    mailjet({ event: 'bounce', hard_bounce: true, error: 'user unknown' }),
    ['bounced', true, 'unknown_user'],
  ],
  [
    'mailjet',
    mailjet({ event: 'bounce', hard_bounce: false, error: 'quota exceeded' }),
    ['bounced', false, 'mailbox_full'],
  ],
  [
    'mailjet',
    mailjet({ event: 'bounce', hard_bounce: false, error: 'greylisted' }),
    ['deferred', false, 'rate_limited'],
  ],
  ['mailjet', mailjet({ event: 'blocked', error: 'preblocked' }), ['bounced', false, 'suppressed']],
  ['mailjet', mailjet({ event: 'sent' }), is('delivered')],
  ['mailjet', mailjet({ event: 'spam' }), is('complained')],
  ['mailjet', mailjet({ event: 'unsub' }), is('unsubscribed')],
  ['mailjet', mailjet({ event: 'open' }), is('opened')],
  ['mailjet', mailjet({ event: 'click' }), is('clicked')],
  ['mailjet', mailjet({ event: 'typofix' })],
  [
    'mailersend',
    mailersend('hard_bounced', { reason: 'Host or domain name not found' }),
    ['bounced', true, 'domain_missing'],
  ],
  ['mailersend', mailersend('soft_bounced', { reason: 'Mailbox full' }), ['bounced', false, 'mailbox_full']],
  ['mailersend', mailersend('deferred', { reason: 'Connection timed out' }), ['deferred', false, 'network']],
  ['mailersend', mailersend('delivered'), is('delivered')],
  ['mailersend', mailersend('spam_complaint'), is('complained')],
  ['mailersend', mailersend('unsubscribed'), is('unsubscribed')],
  ['mailersend', mailersend('opened_unique'), is('opened')],
  ['mailersend', mailersend('clicked'), is('clicked')],
  ['mailersend', mailersend('sent')],
  ['mandrill', mandrill('hard_bounce', { diag: `smtp;${unknown}` }), ['bounced', true, 'unknown_user']],
  ['mandrill', mandrill('soft_bounce', { bounce_description: 'mailbox_full' }), ['bounced', false, 'mailbox_full']],
  ['mandrill', mandrill('reject'), ['bounced', false, 'suppressed']],
  ['mandrill', mandrill('deferral', { diag: '421 connection timed out' }), ['deferred', false, 'network']],
  ['mandrill', mandrill('delivered'), is('delivered')],
  ['mandrill', mandrill('spam'), is('complained')],
  ['mandrill', mandrill('unsub'), is('unsubscribed')],
  ['mandrill', mandrill('open'), is('opened')],
  ['mandrill', mandrill('click'), is('clicked')],
  ['mandrill', mandrill('send')],
  [
    'mailtrap',
    mailtrap({ event: 'bounce', response: unknown, bounce_category: 'hard' }),
    ['bounced', true, 'unknown_user'],
  ],
  [
    'mailtrap',
    mailtrap({ event: 'bounce', response: '550 spam', bounce_category: 'spam' }),
    ['bounced', false, 'content'],
  ],
  ['mailtrap', mailtrap({ event: 'soft bounce', response: '452 mailbox full' }), ['deferred', false, 'mailbox_full']],
  ['mailtrap', mailtrap({ event: 'reject', reason: 'x' }), ['bounced', false, 'other']],
  ['mailtrap', mailtrap({ event: 'delivery' }), is('delivered')],
  ['mailtrap', mailtrap({ event: 'spam' }), is('complained')],
  ['mailtrap', mailtrap({ event: 'unsubscribe' }), is('unsubscribed')],
  ['mailtrap', mailtrap({ event: 'open' }), is('opened')],
  ['mailtrap', mailtrap({ event: 'click' }), is('clicked')],
  ['twilio', twilio({ MessageStatus: 'undelivered', ErrorCode: '30005' }), ['bounced', true, 'unknown_user']],
  ['twilio', twilio({ MessageStatus: 'undelivered', ErrorCode: '30007' }), ['bounced', false, 'content']],
  ['twilio', twilio({ MessageStatus: 'failed', ErrorCode: '21610' }), ['bounced', false, 'suppressed']],
  ['twilio', twilio({ MessageStatus: 'failed' }), ['bounced', false, 'other']],
  ['twilio', twilio({ MessageStatus: 'delivered' }), is('delivered')],
  ['twilio', twilio({ MessageStatus: 'read' }), is('opened')],
  ['twilio', twilio({ MessageStatus: 'sent' })],
  ['whatsapp', whatsapp({ status: 'delivered' }), is('delivered')],
  ['whatsapp', whatsapp({ status: 'read' }), is('opened')],
  ['whatsapp', whatsapp({ status: 'sent' })],
  ['whatsapp', whatsapp({ status: 'failed', errors: [{ code: 131047 }] }), ['bounced', false, 'policy']],
  ['whatsapp', whatsapp({ status: 'failed', errors: [{ code: 131026 }] }), ['bounced', false, 'other']],
  [
    'vonage',
    vonage({ status: 'undeliverable', error: { title: '1190', detail: 'Absent Subscriber - Permanent' } }),
    ['bounced', true, 'unknown_user'],
  ],
  ['vonage', vonage({ status: 'rejected', error: { title: 'Anti-Spam Rejection' } }), ['bounced', false, 'content']],
  ['vonage', vonage({ status: 'rejected' }), ['bounced', false, 'policy']],
  ['vonage', vonage({ status: 'delivered' }), is('delivered')],
  ['vonage', vonage({ status: 'submitted' })],
  [
    'vonage',
    form({ msisdn: '15005550006', messageId: 'u-1', status: 'failed', 'err-code': '9' }),
    ['bounced', true, 'unknown_user'],
  ],
];
