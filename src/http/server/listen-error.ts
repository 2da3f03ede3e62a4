/** Explains to the operator why a port cannot be opened. Other errors are returned as they are. */
import { AppError } from '../../core/errors.ts';

export function explainListen(
  error: unknown,
  setting: 'PORT' | 'METRICS_PORT' | 'BELFRY_SMTP_IN',
  { host, port }: { host: string; port: number },
) {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new AppError(
        'config.invalid',
        `port ${port} on ${host} is already in use: stop the program that uses it, or set ${setting} to another port`,
      );
    case 'EACCES':
      return new AppError('config.invalid', `port ${port} requires privileges: set ${setting} to 1024 or higher`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND': {
      const name = setting.replace('PORT', 'HOST');
      return new AppError('config.invalid', `${name} ${host} is not an address of this machine`);
    }
    default:
      return error;
  }
}
