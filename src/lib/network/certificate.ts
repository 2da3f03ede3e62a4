/** Certificates of our own servers, from the settings. */
import { createSecureContext } from 'node:tls';

/** A certificate and its key (PEM), with the files that they were read from, which are read again now and then. */
export interface MailCertificate {
  cert: string;
  key: string;
  files?: { cert: string; key: string };
}

/** Returns what is wrong with a certificate and its key, without repeating any of the key. */
export function findCertificateError(cert: string, key: string): string | undefined {
  if (!cert || !key) return 'and BELFRY_SMTP_IN_KEY must be set together';
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return `or its key cannot be used (${code ?? message}): both must be PEM, and the key must belong to the certificate`;
  }
}
