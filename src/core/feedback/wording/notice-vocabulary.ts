/** The words by which a mail shows that it reports about another one, and how it is arranged. See phrases.ts for the notation. */
import type { Phrases } from './phrases.ts';

const groups: Phrases['groups'] = {
  mail: [
    'mail|mails|email|emails|message|messages|msg|nachricht|courrier|courriel|mensaje|messaggio|mensagem|bericht|correo|posta',
  ],
  original: [
    'original|returned|unsent|undelivered|rejected|failed|your|offending|unmodified message|mail|email|msg|text|note',
    'ursprungliche|originale|zuruckgesandte nachricht|mail',
    'originalnachricht|originalmail',
    'message|mensaje|messaggio|mensagem original|originale|origine|initial',
    'oorspronkelijk|oorspronkelijke bericht',
  ],
  undelivered: [
    'undeliver*|nondelivery|unzustellbar*|unbestellbar*|onbestelbaar|niedostarczon*|недоставлен*|undeliverd',
    'not deliver|delivered|deliverable|delivering|sent|send|reach|reached|accept|accepted|received|forward|forwarded|completed|pass',
    'non delivery|deliverable|remis|remise|distribue|recapitat*|consegnat*|recapito|delivered',
    'unable to deliver|send|complete|relay|forward|process|reach',
    'failed to deliver|send|reach',
    'delivery fail*|error|problem|problems|incomplete|unsuccessful|aborted|impossible',
    'nicht zugestellt|zustellbar|zustellen|ubermittelt|ausgeliefert|gesendet|erreicht',
    'zustellung fehlgeschlagen|nicht|fehler',
    'pu|pas|etre remis|distribue|livre|delivre|envoye|achemine|transmis',
    'impossibile recapitare|consegnare|inviare',
    'mancato|mancata recapito|consegna',
    'kunde inte levereras|skickas',
    'ikke leveret|levert|leveres',
  ],
};

/** That a message was not delivered. */
const undelivered = [
  '{undelivered}',
  'echec|impossible … remise|distribution|livraison|remettre|distribuer|livrer|envoi|envoyer',
  'no … entregado|entregar|entregada|entrega|enviado|entregarse',
  'fallo|error|falha|erro … entrega|envio|entregar|enviar',
  'nao … entregue|entregar|enviada',
  'niet … bezorgd|afgeleverd|bezorgen|verzonden',
  'nie … dostarczon*|doreczon*|dostarczyc',
  'не … доставлено|доставлен|доставить|удалось',
];

const topics: Phrases['topics'] = {
  /** Subjects that only reports have. */
  subject: [
    ...undelivered,
    'returned|returning|return|bounced {mail}',
    '{mail} returned|bounced|undelivered|failed|failure|failing|rejected|blocked',
    'returned to',
    'failure|failed|error notice|notification|message|report|delivering|sending|mail|delivery',
    'delivery status|notification|report|warning|failure|delayed|delay',
    '{mail} delivery … failed|failure|error|problem|system|subsystem|delayed|warning|report|status',
    '{mail} system|delivery error|failure|problem',
    '{mail} error',
    'not … member',
    'user|recipient|host|address unknown',
    'zwrot|zwrocona|ruckgabe',
    'retour … {mail}',
  ],
  /** What a report says about a message. */
  failure: [
    ...undelivered,
    'fail*|reject*|refused|returned|bounced|fehlgeschlagen|echec|fallido|fallito|falhou',
    'permanent|fatal|unrecoverable error|errors|failure',
    'error|problem|problems … deliver*|sending|occurred',
    'invalid|unknown user|recipient|address',
  ],
  /** The message is still in the queue. */
  delay: [
    'warning message only',
    'not need to resend|retransmit',
    'no need to resend',
    'not need to re send',
    'no need to re send',
    'delayed|verzogert|retarde|retrasado|ritardat*',
    'will be retried|reattempted',
    'retried|retry until|again|later',
    'continue|keep … try|trying|attempt|attempting|attempts|retry',
    'attempts continue',
    'only a temporary',
    'still trying|queued',
    'attempted again',
    'not yet … delivered|received|sent',
    'delay in … delivery',
    'no action required',
  ],
  /** No further attempt is made, whatever else it says. */
  final: [
    'deleted from … queue',
    'deleted|permanent|permanently|fatal|unrecoverable',
    'given|giving up',
    'no further|more',
    'not be retried|resent',
    'not … continue|retry|keep',
    'stopped trying',
    'not going to try',
  ],
  /** A heading, or an introduction, of the returned message. */
  original: [
    '{original} follow*|below|attached|enclosed|included',
    'copy of {original}',
    'copy of … message|mail|email|headers',
    'below|included|enclosed|attached|following … copy|{original}',
    'headers|header of {original}',
    'header|headers|text|body|contents|start|beginning of … {original}',
    '{mail} headers|header|text|body|contents|source|log follow*',
    '{original} header|headers|text|body|contents|source',
    'headers follow*',
    'first lines of … {mail}',
  ],
  /** A line that consists of nothing else is a heading too. */
  heading: ['{original}', 'undelivered|unsent|returned|original {mail}', 'message|original header|headers|text|source'],
  /** What precedes the words of another server. */
  reply: [
    'response|reply|error|answer|reason|details … server|host|system',
    'server|host|system … said|returned|responded|replied|response',
  ],
  /** An address near these words is of people who help. */
  help: [
    'contact|help|assistance|support|questions|question|inquiries|helpdesk|webmaster|administrator|admin|postmaster|unsubscribe',
    'send|forward|write|mail|report|reply|complain|complaints to|questions',
    'visit|hotline|hilfe|kontakt|aide|ayuda|assistenza|contacter|contatta',
  ],
  /** Subjects of replies that a program sends while a person is away. */
  autoReply: [
    'auto|automatic|automated|automatisch*|automatique|automatica|automatische reply|response|answer|antwort|reponse|respuesta|risposta|antwoord|resposta|replied',
    'respuesta|risposta|reponse|resposta automati*',
    'autoreply|autoresponse|autoresponder|autoantwort|autoanswer|vacation|abwesen*|afwezig*|nieobecno*|автоответ*|poissa|frånvaro*',
    'out of … office',
    'away from',
    'absence|ausente|assente|absent … bureau|oficina|ufficio|message|nachricht',
    'fuera|fuori … oficina|ufficio|sede',
  ],
};

export const noticeVocabulary: Phrases = {
  groups,
  topics,
  fragments: {
    subject: [
      '配信不能',
      '配信できません',
      '配信エラー',
      '送信できません',
      '送信エラー',
      '退信',
      '投递失败',
      '無法傳遞',
      '无法投递',
      '반송',
    ],
    failure: [
      '送信できません',
      '配信できません',
      '送信に失敗',
      '配信に失敗',
      '届けられません',
      '投递失败',
      '无法投递',
      '退信',
      '無法傳遞',
    ],
    autoReply: ['自動返信', '自動応答', '不在', '自动回复', '自動回覆', '부재중'],
  },
};
