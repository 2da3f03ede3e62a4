/**
 * Decides why a message bounced, and whether the address is dead, from the words and codes of the server that refused it.
 * The words decide before the codes: servers give 5.1.1 for a full mailbox and 5.0.0 for an unknown user. In doubt a bounce
 * is not permanent: trying again costs a message, suppressing an address that works costs a reader.
 */
import type { FeedbackReason } from './event.ts';

export interface Cause {
  reason: FeedbackReason;
  permanent: boolean;
}

const permanentReasons: readonly FeedbackReason[] = ['unknown_user', 'domain_missing', 'moved'];

/** The longest diagnosis that is looked at; they are a few lines. */
const maxChars = 4_096;

/**
 * In the order of precedence. A rule for the sender or the message precedes those for the recipient, because the former quote
 * the latter's terms ("domain of sender does not exist"). No rule nests quantifiers, and each gap is bounded.
 */
const rules: readonly (readonly [reason: FeedbackReason, words: readonly RegExp[]])[] = [
  [
    'mailbox_full',
    [
      /(mail ?box|inbox|maildir|folder|storage)[^.;]{0,60}\b(full|exceed|too large|out of)/,
      /\b(over|out of|exceed\w*|exceeds)[^.;]{0,40}\b(quota|storage|disk|allotted|mailbox|space)/,
      /quota[^.;]{0,30}(exceed|full|reached|violation)|insufficient[^.;]{0,20}(storage|space)/,
      /not enough[^.;]{0,20}(storage|space)|overquota|too many messages in (the )?mailbox/,
    ],
  ],
  [
    'suspended',
    [
      /\b(account|user|mailbox|recipient|address)\b[^.;]{0,60}\b(disabled|suspended|deactivated|inactive|locked|is blocked|not active|frozen|on hold|terminated)\b/,
      /\b(disabled|inactive|suspended|deactivated|locked) (account|user|mailbox|recipient)\b/,
      /account[^.;]{0,30}not been used|no longer accept/,
    ],
  ],
  [
    'size',
    [
      /\b(message|mail|size)\b[^.;]{0,30}\btoo (big|large)\b|(message|line)s? (is |are )?too long/,
      /(message|mail|data)\b[^.;]{0,20}\b(size|length)[^.;]{0,30}(exceed|limit|maximum)/,
      /exceed\w*[^.;]{0,40}(message|mail)[^.;]{0,20}size|size limit|message exceeds/,
    ],
  ],
  [
    'other',
    [
      /procmail|maildrop|\bpipe to\b|command (died|failed|output)|mailer error|exit (status|code)/,
      /local delivery (agent|error)|couldn't create|can(no|')t (create|open|write)/,
      /unable to (create|open|write)|system config|local system error|i\/o error|input\/output error|out of memory/,
      /configuration (error|problem)|disk (error|full)|no such file/,
    ],
  ],
  [
    'rate_limited',
    [
      /too many (connections?|recipients|messages|mails?|emails|concurrent|sessions|requests|errors)/,
      /\b(rate|frequency|connection|hourly|daily|sending)[ -]?(is )?limit|throttl|rate[ -]?limit/,
      /too (fast|quickly|frequently)|unusual rate|unexpected volume|try again in \d|slow down/,
      /receiving mail at a rate/,
    ],
  ],
  [
    'authentication',
    [
      /\b(dmarc|dkim|spf|sender policy framework|arc)\b|unauthenticated/,
      /authenticat(ion|e) (is )?(required|level|requirements|information|check|failed|failure|mechanism|credentials)/,
      /not authenticated|must (be )?authenticat|requires authentication|domain owner discourages|starttls/,
      /\btls\b[^.;]{0,30}(required|must)|encryption (is )?(required|needed)/,
    ],
  ],
  [
    'relay_denied',
    [
      /relay(ing)?\b[^.;]{0,30}\b(denied|prohibited|not (allowed|permitted|authorized|supported)|access|rejected|forbidden|disallowed)/,
      /(not|unable to|cannot|don't|do not|no|to) relay\b|not (a|an)? ?(open relay|local domain|gateway)|relay not/,
      /not in my (domain|list of allowed)/,
    ],
  ],
  [
    'blocked',
    [
      /(block|black|deny|ban) ?list|\b(dn|u|s)?[rs]?bl\b|dnsbl|\(bl\)|spamhaus|spamcop|barracuda|cloudmark/,
      /senderbase|sorbs|proofpoint|reputation|banned|client host|\bptr\b/,
      /reverse (dns|lookup|hostname|host|name|mapping)|\brdns\b|ip name lookup failed/,
      /(hostname|helo|ehlo|domain)[^;]{0,60}(mismatch|does not (match|resolve)|not resolve|cannot be resolved)/,
      /mismatches client|\bip\b[^.;]{0,60}\b(block|reject|refus|denied|not (allowed|accepted|permitted))/,
      /(block|reject|refus|den)\w*[^.;]{0,60}\b(your|source|sending|client|from|this) (ip|server|host|network)\b/,
      /messages from \S{1,60} weren't sent|poor reputation|not accepting (connections|mail from)/,
      /(fix|need|no) (your )?(reverse|rdns|ptr)|unauthorized (ip|host)|dynamic(ally)?[ -](ip|assigned|address)/,
      /dial-?up/,
    ],
  ],
  [
    'policy',
    [
      /(?<!to |to the )\b(sender|envelope[- ]from|mail from|from address|return[- ]path|originator|reverse-path)\b[^;]{0,60}\b(reject|refus|denied|invalid|verif|blocked|unroutable|unresolvable)/,
      /(?<!to |to the )\b(sender|mail from|from address|originator)\b[^;]{0,60}\b(not (exist|found|allowed|valid|accepted|permitted|authorized)|does not|doesn'?t)/,
      /unrout(e)?able sender|domain of sender|invalid sender|not a member|members? (only|can|may)/,
      /only (members|subscribers|accepts)|groups\.google\.com\/support|not allowed to (post|send)/,
      /(permission|authorized|allowed) to (post|send)|moderat(ed|or)/,
    ],
  ],
  [
    'content',
    [
      /\bspam\b|virus|malware|phish|unsolicited|\b(ube|uce)\b|trojan|infected/,
      /\b(content|attachment|header|body)s?\b[^.;]{0,40}\b(filter|reject|denied|forbidden|not (accepted|allowed|permitted))/,
      /\b(content|attachment|header|body)s?\b[^.;]{0,40}\b(malformed|invalid|error|violat|block|presents|prohibited)/,
      /(unacceptable|prohibited|suspicious|harmful|dangerous|objectionable) (content|attachment|message)/,
      /duplicate header|missing[^.;]{0,20}header|bare (lf|cr)|non-?compliant|rfc ?\d{3,4}|header error/,
      /multiple[^.;]{0,40}from:? header|blacklisted url|junk|conversion/,
    ],
  ],
  [
    'expired',
    [
      /expired|queue too long|retry (time|timeout|period)|timeout exceeded|could not be delivered (for|within)/,
      /not be delivered (for|in) \d|stopped trying|giv(en|ing) up after|failing for a long time|long failure period|failed \d+ attempts/,
      /too long in (the )?queue|maximum (queue|retry|delivery) time|no longer (be )?(try|attempt|retr)/,
      /delivery (time|attempts?) (expired|exhausted)/,
    ],
  ],
  ['network', [/not found, try again|service error[^;]{0,80}try again|temporary (dns|lookup|name)/]],
  [
    'domain_missing',
    [
      /(host|domain|mx)( name)?( ["'<(]?[\w-]{1,60}(\.[\w-]{1,60}){1,5}[>"')]?)? (is )?(not found|unknown(?! (user|recip|error|mailbox|address))|does not exist|doesn'?t exist|not exist|invalid)/,
      /domain is not reachable|lookups? failed permanently|no data record of requested type|illegal host/,
      /(host|domain)( name)? (could not|couldn't) be found/,
      /no such (host|domain)/,
      /(unknown|invalid|bad|nonexistent|non-existent) (host|domain|destination|mail domain|system)\b|nxdomain/,
      /unrout(e)?able (mail )?domain|name or service not known|find any host|unable to find mx/,
      /no (mx|mail exchanger?|mail server)\b|mail exchanger or ip|null ?mx|no smtp service/,
      /(domain|host|server)[^.;]{0,60}(does not|doesn'?t|never|not) accept(s|ing)? (any )?(mail|e-?mail|message)/,
      /non-?existent hosts?|domain[^.;]{0,40}no valid mail|host or domain name/,
    ],
  ],
  [
    'network',
    [
      /connection (refused|reset|timed|timeout|lost|dropped|closed|failed|attempt|was)|conversation with/,
      /(connect|operation|session|greeting|read|write|data)\w*[^.;]{0,20}timed? ?out|(read|write) error|(not|un) ?reachable/,
      /no route to|network error|socket error|requests to connect|smtp connection|lookup fail(?!ed permanently)/,
      /mail loop|loops? back|looping/,
      /too many hops|hop count|routing loop|forwarded more than|unable to connect|cannot connect/,
      /could not connect|delivery temporarily suspended/,
    ],
  ],
  [
    'moved',
    [
      /(has|have|was|been) moved\b|moved to\b|no longer on (the |this )?server/,
      /(address|user|recipient|mailbox)[^.;]{0,40}(has|was|been) (changed|replaced)/,
      /please (use|try|update)[^.;]{0,40}new (e-?mail|address)|user not local; please try/,
    ],
  ],
  [
    'unknown_user',
    [
      /\b(users?|recipient|recipients|mailbox|account|address|addressee|alias|email|e-mail|person|destination|name|login|local[- ]?part|userid)( (name|address|account|box|alias))?:?( ['"<(]?\S{1,120}[>"')]?:?)? (was |is |are |were |has |could |that you tried to reach |you tried to reach )?(un(known|recognized|deliverable)|not (be )?(found|exist|known|recognized|recognised|listed|valid|registered|available here)|does not exist|doesn'?t exist|do not exist|don't exist|doesn'?t have|does not have|invalid|non-?existent|no longer (exists|valid|available|active))/,
      /\b(unknown|invalid|no such|non-?existent|nonexistent|bad|illegal|unrecognized|undefined|unrouteable|unroutable|incorrect) (or (illegal|invalid|unknown) )?(local |virtual |final delivery |destination |recipient |remote |email |e-mail )?(users?|recipients?|mailbox|account|alias|person|userid|user id|addressee|local[- ]?part|rcpt|destinataire|address(?!,))\b/,
      /no mailbox (here|by|found)/,
      /not (a|our) (valid|known|local|registered|legal)? ?(user|mailbox|recipient|customer|address)/,
      /(user|recipient|mailbox|account)\w* (not|n't) (known|found|exist|here|listed|valid)/,
      /not (known|listed|found) (at|in|on) (this|our|the|local|domino|address|directory|public)|recipnotfound/,
      /user_?unknown|recipient address rejected: access denied|recipient (rejected|unknown|invalid)/,
      /doesn'?t have an? \S{1,80} account|no account by that name|cannot find (the )?(user|recipient|mailbox)/,
      /(couldn't|could not|can't|cannot) (find|be found|locate)[^.;]{0,40}(user|recipient|mailbox|account|address)/,
      /unable to (find|locate|validate)[^.;]{0,30}(user|recipient|mailbox|account)/,
      /this (user|account|mailbox|address) (doesn'?t|does not|no longer)|who are you looking for/,
      /no one (here )?by that name|(has|have) no account|mailbox unavailable|#5\.1\.0 address rejected/,
      /recipients? (cannot|could not|can't) be verified|no valid recipients? (for|found|specified)|répertorié dans l'annuaire|見つかりません/,
      /存在しません|リストにありません/,
    ],
  ],
];

/** Words that say only that it is a matter of policy: a specific status code says more. */
const vague =
  /policy|policies|access denied|prohibit|not authori[sz]ed|permission|refused|not (allowed|permitted|accepted)|denied|rejected|security|administrative|unacceptable|transaction failed/;

/** What an enhanced status code (RFC 3463) means where the words say nothing. */
const statuses: readonly (readonly [RegExp, FeedbackReason])[] = [
  [/^\d\.1\.[13]$/, 'unknown_user'],
  [/^\d\.1\.(2|10)$/, 'domain_missing'],
  [/^\d\.1\.6$/, 'moved'],
  [/^\d\.1\.[78]$/, 'policy'],
  [/^\d\.2\.1$/, 'suspended'],
  [/^\d\.2\.2$/, 'mailbox_full'],
  [/^\d\.(2\.3|3\.4)$/, 'size'],
  [/^\d\.4\.4$/, 'domain_missing'],
  [/^\d\.4\.7$/, 'expired'],
  [/^\d\.4\./, 'network'],
  [/^\d\.6\./, 'content'],
  [/^\d\.7\.(5|8|9|2\d)$/, 'authentication'],
  [/^\d\.7\./, 'policy'],
];

/** Text that shows that the server refused the recipient, not the connection, the sender or the message. */
const atRecipient =
  /(reply to|after|>>>|our|in|at|during|command|smtp:|stage:?) ?rcpt\b|\[rcpt_to\]|does not like recipient|recipient address rejected|rejected address|bad-mailbox|invalid recipient|unknown recipient|recipient (unknown|not found|does not exist)/;
/** Text that shows that the server refused the connection or the sender. */
const atSender =
  /(reply to|after|>>>|at|during|command|smtp:|stage:?) ?(mail from|ehlo|helo)\b|\[mail_from\]|refused to talk to/;
/** Text that shows that the server refused the message, after it had accepted the recipient. */
const afterData =
  /(in reply to|after) (the )?(end of )?data\b|after end of data|>>> data\b|smtp command data\b|after i sent the message/;
/** Text of a server that looked up the recipient itself. */
const ownDirectory =
  /unknown (user|recipient|mailbox|address|local)|unroute?able address|(user|recipient|mailbox|address) unknown|final delivery userid|(name|address|user|recipient) (is |was )?(not (listed|found|recognized|recognised|known|registered))|no such (user|mailbox|recipient|person|account)|no mailbox here|does not exist|no valid recipient|recipnotfound|(listed|found|known) in|répertorié dans l'annuaire|見つかりません|存在しません|リストにありません/;
const reply = /(?:^|[\s:;(<"'])([245]\d\d)[\s:,-]/;

/**
 * Returns the cause that the first conclusive text names. `status` is the code of the report itself; codes in the texts count
 * more, because a server that gives up reports its own.
 */
export function classify(texts: readonly string[], status = ''): Cause {
  const plain = texts.map(normalize).filter(text => text !== '');
  const all = plain.join(' ');
  const own = findStatus(all) ?? '';
  const code = own || (findStatus(status) ?? '');
  const found = plain.map(text => findReason(text)).find(reason => reason !== undefined);
  const reason = found ?? reasonOf(findStatus(status)) ?? 'other';
  if (!permanentReasons.includes(reason)) return { reason, permanent: false };
  // Before it knew the recipient, the server can only have meant the sender.
  if (atSender.test(all) && !atRecipient.test(all)) return { reason: 'policy', permanent: false };
  // A server may say "user unknown" of an account that another line says is disabled or full.
  const isCertain = plain[0] !== undefined && /5\.1\.1/.test(plain[0]) && findReason(plain[0]) === reason;
  const state = isCertain ? undefined : findReason(all, rules.slice(0, 2));
  if (state) return { reason: state, permanent: false };
  const isTemporary = code.startsWith('4') || reply.exec(all)?.[1]?.startsWith('4') === true;
  if (isTemporary && !isHopeless(code, all)) return { reason, permanent: false };
  return { reason, permanent: reason !== 'unknown_user' || isAboutRecipient(code, own, all) };
}

/** A server that gave up on "450 4.1.1 User unknown in virtual alias table" would not have fared better later. */
function isHopeless(code: string, text: string): boolean {
  const isUnknown = /unknown|no such|(not|n't) (exist|found)/.test(text);
  return code === '4.1.1' && isUnknown && !/unverif|try again|later|temporar|gr[ea]ylist/.test(text);
}

/**
 * Some servers answer "user unknown" to content that a filter of the user rejects. So a remote server must also say 5.1.x or
 * have refused the recipient itself; a server that names its own directory needs no code.
 */
function isAboutRecipient(code: string, own: string, text: string): boolean {
  if (/^[45]\.1\./.test(code) || /(?<![\d.])5\.1\.1(?!\d)/.test(text)) return true;
  // The reply of Outlook.com for accounts that do not exist.
  if (code === '5.5.0' && text.includes('mailbox unavailable')) return true;
  if (own.startsWith('5.7.')) return text.includes('recipient address rejected');
  if (atRecipient.test(text)) return true;
  return !afterData.test(text) && !reply.test(text) && ownDirectory.test(text);
}

/** Joins the lines of a reply ("550-5.7.1 a 550 5.7.1 b" is "550-5.7.1 a b"), and removes what may contain any word. */
function normalize(text: string): string {
  const seen = new Set<string>();
  return text
    .slice(0, maxChars)
    .toLowerCase()
    .replace(/\bhttps?:\/\/(?!groups\.google)[^\s>)]{1,400}/g, ' ')
    .replace(/\b[245]\d\d[ -]([245]\.\d{1,2}\.\d{1,3})\b/g, (whole, code: string) => {
      if (seen.has(code)) return '';
      seen.add(code);
      return whole;
    })
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replaceAll('’', "'")
    .trim();
}

/** Returns the reason that the words name, else the one of a status code among them. */
function findReason(text: string, among = rules): FeedbackReason | undefined {
  const named = among.find(([, words]) => words.some(pattern => pattern.test(text)))?.[0];
  if (named || among !== rules) return named;
  return reasonOf(findStatus(text)) ?? (vague.test(text) ? 'policy' : undefined);
}

/** Returns the first code that says more than x.0.0. */
function findStatus(text: string): string | undefined {
  const codes = [...text.matchAll(/(?<![\d.])([245]\.\d{1,2}\.\d{1,3})(?![\d.]*\d)/g)].map(([, code]) => code!);
  return codes.find(code => !/^\d\.0\.0$/.test(code)) ?? codes[0];
}

function reasonOf(code: string | undefined): FeedbackReason | undefined {
  return code === undefined ? undefined : statuses.find(([pattern]) => pattern.test(code))?.[1];
}
