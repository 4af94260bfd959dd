"""Closed forms of queueing theory, to hold a run against.

In come rates, mean times and counts; out go numbers in the same unit of time. Nothing of the project is used here:
a formula that shared code with the engine could not check it. `tests/theory` holds runs against every one.

=========================  ==============================================================
function                   model
=========================  ==============================================================
`mm1_...`                  M/M/1, first come first served
`mmc_...`, `erlang_c`      M/M/c, one queue for c servers
`erlang_b`                 M/G/c/c, whoever finds every server busy is lost
`mg1_...`                  M/G/1, first come first served
`mg1_ps_response`          M/G/1, processor sharing
`finite_population_...`    M/M/1//N, N clients that think and then come back
`little_number`            any system in balance
=========================  ==============================================================

Sources that are cited in short below:

- Kleinrock I: L. Kleinrock, Queueing Systems, Volume 1: Theory, Wiley, 1975.
- Kleinrock II: L. Kleinrock, Queueing Systems, Volume 2: Computer Applications, Wiley, 1976.
- Harchol-Balter: M. Harchol-Balter, Performance Modeling and Design of Computer Systems, Cambridge University Press,
  2013.

Where they write a service rate, the functions here take its inverse, the mean service, as programs do.
"""

from __future__ import annotations

import math


def mm1_wait(arrival_rate: float, mean_service: float) -> float:
    """Mean time in the queue of an M/M/1, service not included.

    Parameters
    ----------
    arrival_rate : float
        Arrivals per unit of time, at least 0.
    mean_service : float
        Mean of the exponential service, above 0.

    Raises
    ------
    ValueError
        An argument makes no sense, or the load ``arrival_rate * mean_service`` is not below 1: the queue then grows
        without end. The same holds for every function below that takes these arguments.

    Notes
    -----
    W = load S / (1 - load). Kleinrock I, section 3.2; Harchol-Balter, section 13.1.
    """
    load = _stable_load(arrival_rate, mean_service)
    return load * mean_service / (1.0 - load)


def mm1_response(arrival_rate: float, mean_service: float) -> float:
    """Mean time in the system, wait and service, of an M/M/1: S / (1 - load).

    Kleinrock I, section 3.2; Harchol-Balter, section 13.1.
    """
    return mean_service / (1.0 - _stable_load(arrival_rate, mean_service))


def mm1_number(arrival_rate: float, mean_service: float) -> float:
    """Mean number in the system, waiting and served, of an M/M/1: load / (1 - load).

    Kleinrock I, section 3.2; Harchol-Balter, section 13.1.
    """
    load = _stable_load(arrival_rate, mean_service)
    return load / (1.0 - load)


def mm1_response_quantile(p: float, arrival_rate: float, mean_service: float) -> float:
    """The time within which a share `p` of an M/M/1's clients is through.

    Parameters
    ----------
    p : float
        Between 0 and 1, both excluded: 0.99 for the 99th percentile.
    arrival_rate, mean_service : float
        See `mm1_wait`.

    Notes
    -----
    First come first served, the response is exponential with mean R = S / (1 - load), so its quantile is
    -R ln(1 - p). Kleinrock I, section 5.7, has it as its example.
    """
    if not 0.0 < p < 1.0:
        raise ValueError(f"p is {p}, but a quantile's share lies between 0 and 1: write 0.99 for the 99th percentile")
    return -mm1_response(arrival_rate, mean_service) * math.log1p(-p)


def erlang_b(servers: int, offered_load: float) -> float:
    """Erlang's loss formula: the share of arrivals lost at `servers` servers without a queue, M/G/c/c.

    Parameters
    ----------
    servers : int
        At least 1.
    offered_load : float
        ``arrival_rate * mean_service``, in erlangs; at least 0, and it may exceed the number of servers.

    Returns
    -------
    float
        Between 0 and 1. It depends on the law of the service by its mean alone.

    Notes
    -----
    The formula is B = (a^c / c!) / sum of a^k / k! over k = 0 ... c (Kleinrock I, section 3.7; Harchol-Balter, section
    14.2). It is computed by the recursion B(0) = 1, B(k) = a B(k - 1) / (k + a B(k - 1)), which neither overflows nor
    cancels (D. L. Jagerman, Some properties of the Erlang loss function, Bell System Technical Journal 53, 1974). That
    the law of the service does not matter: B. A. Sevastyanov, An ergodic theorem for Markov processes and its
    application to telephone systems with refusals, Theory of Probability and its Applications 2, 1957.
    """
    _check_count("servers", servers)
    _check_number("offered_load", offered_load)
    blocked = 1.0
    for k in range(1, int(servers) + 1):
        blocked = offered_load * blocked / (k + offered_load * blocked)
    return blocked


def erlang_c(servers: int, offered_load: float) -> float:
    """Erlang's delay formula: the share of arrivals that has to wait in an M/M/c.

    Parameters
    ----------
    servers : int
        At least 1.
    offered_load : float
        ``arrival_rate * mean_service``, in erlangs; below the number of servers.

    Notes
    -----
    Kleinrock I, section 3.5; Harchol-Balter, section 14.3. Written by Erlang's loss formula B, which follows when the
    sums in the two are compared: C = c B / (c - a (1 - B)).
    """
    blocked = erlang_b(servers, offered_load)
    if not offered_load < servers:
        raise ValueError(
            f"the offered load is {offered_load:g} for {servers} servers, and the queue grows without end: "
            f"take more than {offered_load:g} servers, or lower the load"
        )
    return servers * blocked / (servers - offered_load * (1.0 - blocked))


def mmc_wait(arrival_rate: float, mean_service: float, servers: int) -> float:
    """Mean time in the queue of an M/M/c: C(c, a) S / (c - a), with a = arrival_rate * mean_service.

    Kleinrock I, section 3.5; Harchol-Balter, section 14.3.
    """
    _check_number("arrival_rate", arrival_rate)
    _check_positive("mean_service", mean_service)
    offered_load = arrival_rate * mean_service
    return erlang_c(servers, offered_load) * mean_service / (servers - offered_load)


def mmc_response(arrival_rate: float, mean_service: float, servers: int) -> float:
    """Mean time in the system, wait and service, of an M/M/c. See `mmc_wait`."""
    return mmc_wait(arrival_rate, mean_service, servers) + mean_service


def mg1_wait(arrival_rate: float, mean_service: float, service_cv2: float) -> float:
    """Mean time in the queue of an M/G/1, first come first served: the Pollaczek-Khinchine formula.

    Parameters
    ----------
    arrival_rate, mean_service : float
        See `mm1_wait`.
    service_cv2 : float
        Squared coefficient of variation of the service, variance over squared mean: 0 constant, 1 exponential, 1/k
        Erlang of k phases, above 1 hyperexponential.

    Notes
    -----
    W = load S (1 + cv2) / (2 (1 - load)). Kleinrock I, section 5.5; Harchol-Balter, chapter 23.
    """
    load = _stable_load(arrival_rate, mean_service)
    _check_number("service_cv2", service_cv2)
    return load * mean_service * (1.0 + service_cv2) / (2.0 * (1.0 - load))


def mg1_response(arrival_rate: float, mean_service: float, service_cv2: float) -> float:
    """Mean time in the system, wait and service, of an M/G/1, first come first served. See `mg1_wait`."""
    return mg1_wait(arrival_rate, mean_service, service_cv2) + mean_service


def mg1_ps_response(arrival_rate: float, mean_service: float) -> float:
    """Mean time in the system of an M/G/1 with processor sharing: S / (1 - load), whatever the law of the service.

    Kleinrock II, section 4.4; Harchol-Balter, chapter 22.
    """
    return mean_service / (1.0 - _stable_load(arrival_rate, mean_service))


def finite_population_throughput(population: int, mean_think: float, mean_service: float) -> float:
    """Services per unit of time in an M/M/1//N: N clients think, queue for one server, and think again.

    Also known as machine repair: machines run, break down and wait for the one who repairs them.

    Parameters
    ----------
    population : int
        The number N of clients, at least 1.
    mean_think : float
        Mean time between a service and the next arrival of the same client, at least 0. Its law does not matter.
    mean_service : float
        Mean of the exponential service, above 0.

    Notes
    -----
    Kleinrock I, section 3.8, gives the law of the number at the server. Computed here by mean value analysis, which is
    exact and does not overflow: R(n) = S (1 + Q(n - 1)), X(n) = n / (Z + R(n)), Q(n) = X(n) R(n), from Q(0) = 0
    (M. Reiser and S. S. Lavenberg, Mean-value analysis of closed multichain queuing networks, Journal of the ACM 27,
    1980).
    """
    _check_count("population", population)
    _check_number("mean_think", mean_think)
    _check_positive("mean_service", mean_service)
    number, throughput = 0.0, 0.0
    for n in range(1, int(population) + 1):
        response = mean_service * (1.0 + number)
        throughput = n / (mean_think + response)
        number = throughput * response
    return throughput


def finite_population_response(population: int, mean_think: float, mean_service: float) -> float:
    """Mean time at the server, wait and service, in an M/M/1//N: N / X - Z, by Little's law over the whole cycle.

    Arguments and source as in `finite_population_throughput`.
    """
    return population / finite_population_throughput(population, mean_think, mean_service) - mean_think


def little_number(throughput: float, mean_stay: float) -> float:
    """Little's law: the mean number present is the throughput times the mean stay.

    It holds for every system in balance, and for every part of one.

    Parameters
    ----------
    throughput : float
        Arrivals, or departures, per unit of time.
    mean_stay : float
        Mean time that one spends there.

    Notes
    -----
    J. D. C. Little, A proof for the queuing formula L = lambda W, Operations Research 9, 1961.
    """
    _check_number("throughput", throughput)
    _check_number("mean_stay", mean_stay)
    return throughput * mean_stay


def _stable_load(arrival_rate: float, mean_service: float) -> float:
    """The load of a single server, which must be below 1."""
    _check_number("arrival_rate", arrival_rate)
    _check_positive("mean_service", mean_service)
    load = arrival_rate * mean_service
    if not load < 1.0:
        raise ValueError(
            f"the load is {load:g} (arrival_rate {arrival_rate:g} times mean_service {mean_service:g}), and the queue "
            f"grows without end: take an arrival_rate below {1.0 / mean_service:g}"
        )
    return load


def _check_number(name: str, value: float) -> None:
    if not 0.0 <= value < math.inf:
        raise ValueError(f"{name} is {value}: give a finite number that is not negative")


def _check_positive(name: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name} is {value}: give a finite number above 0")


def _check_count(name: str, value: float) -> None:
    if not 1 <= value < math.inf or value != int(value):
        raise ValueError(f"{name} is {value}: give a whole number, at least 1")
