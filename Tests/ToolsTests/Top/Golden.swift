enum Golden {
    /// `Answers.first` and `Answers.second`, ten seconds apart.
    static let table = """
        mvi-server 0.1.0 at http://127.0.0.1:8081   ready   up 00:01:50
        CPU              65 %   memory        512 MiB   files             214 of 1,048,576   threads 19
        connections       120   requests            3   work               12
        streams        10,012   sessions       10,050   stores         20,090

        a second          all   of which
        intents         1,241   committed 1,240   refused 0.5
        turns           1,240   intent 1,240
        answers         1,253   2xx 1,250   4xx 3.0
        events          2,480   state 2,480
        streams +       1,000
        streams -           0

        journal      a second       p50       p99
        appends         1,240    556 µs   9.18 ms   group 4.00, p99 >8.00
        requests        1,000   1.00 ms   1.98 ms   waiting in a queue p50 -, p99 -

        feature                        turns/s       p50       p99  intents/s   slow/s  failures/s
        orders                           1,000   55.6 µs    918 µs      1,241        0         0.1

        problems                                     a second
        429 too-many-requests                             3.0
        limit reached: intent-rate                        3.0
        features threw in execute                         0.1
        """
}
