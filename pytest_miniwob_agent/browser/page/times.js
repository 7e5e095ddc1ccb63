// Your own pages: the browser's other clocks go by the page's clock too.

(() => {
  const { own, outer } = Visit;

  if (own || outer) {
    Object.defineProperty(performance, "timeOrigin", { value: Clock.began });
    Object.defineProperty(document, "lastModified", { value: "01/01/2020 00:00:00" });
    Object.defineProperty(Event.prototype, "timeStamp", { get: () => Clock.now - Clock.began });
    const formats = Intl.DateTimeFormat.prototype;
    const { get: formatOf } = Object.getOwnPropertyDescriptor(formats, "format");
    Object.defineProperty(formats, "format", {
      get() {
        const format = formatOf.call(this);
        return (date = Clock.now) => format(date);
      },
    });
    if (window.Temporal) {
      const instant = () => Temporal.Instant.fromEpochMilliseconds(Clock.now);
      const zonedDateTimeISO = (zone = "UTC") => instant().toZonedDateTimeISO(zone);
      Object.assign(Temporal.Now, {
        instant,
        zonedDateTimeISO,
        plainDateTimeISO: (zone) => zonedDateTimeISO(zone).toPlainDateTime(),
        plainDateISO: (zone) => zonedDateTimeISO(zone).toPlainDate(),
        plainTimeISO: (zone) => zonedDateTimeISO(zone).toPlainTime(),
      });
    }
  }
})();
